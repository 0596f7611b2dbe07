//! The environment of a command: an allow-list of the host's variables, what keeps programs from asking questions,
//! and what the application adds. Secrets of the host do not pass because nothing passes that is not named here.

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What is taken from the host, beside `LC_*`.
const TAKEN: [&str; 7] = ["PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER", "SHELL"];
/// Where programs are looked for when the host does not say.
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Nobody is there to answer: an editor, pager or password prompt fails or passes through at once. The
/// editor is `false`, because a `true` would accept whatever it was opened on.
const UNATTENDED: [(&str, &str); 11] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Variables by name.
#[derive(Clone, Debug)]
pub(crate) struct Environment(BTreeMap<Vec<u8>, Vec<u8>>);

/// Why a name cannot be that of a variable.
pub(crate) fn check_name(name: &str, value: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("a name must not be empty or contain `=` or NUL");
    }
    if value.contains('\0') {
        return Err("a value must not contain NUL");
    }
    Ok(())
}

impl Environment {
    /// The environment of an unattended command with what the application adds, which may replace anything.
    pub(crate) fn unattended(added: &BTreeMap<String, String>) -> Self {
        Self::of_host(
            std::env::vars_os().map(|(n, v)| (n.into_vec(), v.into_vec())),
            added,
        )
    }

    fn of_host(
        host: impl Iterator<Item = (Vec<u8>, Vec<u8>)>,
        added: &BTreeMap<String, String>,
    ) -> Self {
        let mut variables: BTreeMap<Vec<u8>, Vec<u8>> = host
            .filter(|(name, _)| {
                name.starts_with(b"LC_") || TAKEN.iter().any(|taken| taken.as_bytes() == &**name)
            })
            .collect();
        variables
            .entry(b"PATH".to_vec())
            .or_insert_with(|| DEFAULT_PATH.to_vec());
        let mut environment = Self(variables);
        for (name, value) in UNATTENDED {
            environment.set(name, value);
        }
        for (name, value) in added {
            environment.set(name, value.as_bytes());
        }
        environment
    }

    /// Sets one variable.
    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0
            .insert(name.as_bytes().to_vec(), value.as_ref().to_vec());
    }

    /// Absolute path of a program on the search path; entries that are relative do not count.
    pub(crate) fn find_program(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.0.get(&b"PATH"[..])?;
        path.split(|byte| *byte == b':')
            .filter(|folder| folder.starts_with(b"/"))
            .map(|folder| [folder, b"/", name.as_bytes()].concat())
            .find(|program| {
                let program = OsStr::from_bytes(program);
                // A folder of that name may be "executed" too.
                stat(program).is_ok_and(|facts| {
                    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile
                }) && accessat(CWD, program, Access::EXEC_OK, AtFlags::empty()).is_ok()
            })
    }

    /// `NAME=value` of each; none when one contains NUL.
    pub(crate) fn entries(&self) -> Option<Vec<CString>> {
        self.0
            .iter()
            .map(|(name, value)| CString::new([name, &b"="[..], value].concat()).ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_variables_pass_and_the_application_has_the_last_word() {
        let host = [
            ("PATH", "/bin"),
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("TERM", "xterm"),
            ("OPENAI_API_KEY", "canary"),
            ("GITHUB_TOKEN", "canary"),
            ("AWS_SECRET_ACCESS_KEY", "canary"),
            ("GH_TOKEN", "canary"),
            ("npm_config__auth", "canary"),
            ("SSH_AUTH_SOCK", "canary"),
            ("https_proxy", "http://user:canary@proxy"),
            ("BASH_ENV", "canary"),
            ("ENV", "canary"),
            ("LD_PRELOAD", "canary"),
            ("PROMPT_COMMAND", "canary"),
            ("BASH_FUNC_x%%", "() { canary; }"),
            ("GIT_DIR", "canary"),
        ];
        let host = host.map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec()));
        let added = BTreeMap::from([
            ("PAGER".to_owned(), "less".to_owned()),
            ("MY_TOKEN".to_owned(), "given".to_owned()),
        ]);
        let environment = Environment::of_host(host.into_iter(), &added);
        let entries: Vec<String> = environment
            .entries()
            .unwrap()
            .into_iter()
            .map(|entry| entry.into_string().unwrap())
            .collect();
        assert!(!entries.iter().any(|entry| entry.contains("canary")));
        for expected in [
            "PATH=/bin",
            "HOME=/h",
            "LC_ALL=C",
            "TERM=dumb",
            "PAGER=less",
            "MY_TOKEN=given",
        ] {
            assert!(entries.iter().any(|entry| entry == expected), "{expected}");
        }
        let bare = Environment::of_host(std::iter::empty(), &BTreeMap::new());
        assert!(
            bare.find_program("bash")
                .is_some_and(|path| path.starts_with(b"/"))
        );
        assert_eq!(bare.find_program("no-such-program-xyz"), None);
        assert!(check_name("A=B", "").is_err() && check_name("A", "\0").is_err());
    }
    #[test]
    fn a_folder_or_a_plain_file_of_that_name_is_no_program() {
        use crate::workspace::test_support::Scratch;
        use rustix::fs::{Mode, chmod};
        let scratch = Scratch::new();
        scratch.write("folder/tool/x", "");
        scratch.write("plain/tool", "");
        scratch.write("real/tool", "#!/bin/sh\n");
        chmod(scratch.inside("real/tool"), Mode::from_raw_mode(0o755)).unwrap();
        let root = scratch.root();
        let path = format!("{root}/folder:real:{root}/plain::{root}/real");
        let path = (b"PATH".to_vec(), path.into_bytes());
        let environment = Environment::of_host(std::iter::once(path), &BTreeMap::new());
        let found = environment.find_program("tool").unwrap();
        assert_eq!(found, format!("{root}/real/tool").into_bytes());
    }
}

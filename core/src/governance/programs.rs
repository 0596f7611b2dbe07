//! What programs do besides what their name says: programs that run others, arguments that run or write.
//!
//! Two questions are answered about a command, for rules that allow: how many of its words must a rule
//! spell out before it may cover it ([`words_to_spell`]), and which command does it run for another
//! ([`wrapped`]). `sightings.rs` asks for rules that refuse where else in it a program may begin.
//!
//! The tables list what is well known and are not complete; a program that is allowed by name may always
//! have ways to run others. The boundary is the sandbox, not this list.

pub(super) const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash",
];

/// Programs and builtins that run what their arguments say.
pub(super) const WRAPPERS: &[&str] = &[
    ".",
    "alias",
    "at",
    "batch",
    "builtin",
    "busybox",
    "bwrap",
    "caffeinate",
    "cgexec",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "dbus-run-session",
    "doas",
    "entr",
    "env",
    "eval",
    "exec",
    "expect",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "gtimeout",
    "hyperfine",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setsid",
    "sg",
    "source",
    "ssh",
    "sshpass",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tmux",
    "torsocks",
    "toybox",
    "trap",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "xargs",
    "xvfb-run",
];

/// Programs whose arguments and input are code in another language, or name programs in a way of their own.
pub(super) const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "deno",
    "docker",
    "ed",
    "emacs",
    "ex",
    "gawk",
    "gmake",
    "kubectl",
    "lua",
    "make",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "nvim",
    "osascript",
    "perl",
    "php",
    "podman",
    "pwsh",
    "python",
    "ruby",
    "tclsh",
    "vi",
    "vim",
];

/// Builtins that change what later commands mean.
const STATEFUL: &[&str] = &[
    ".",
    "alias",
    "bind",
    "complete",
    "declare",
    "enable",
    "export",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
];

/// Arguments of a program that run another one or write a file.
struct Arguments {
    programs: &'static [&'static str],
    /// Long options, also abbreviated.
    long: &'static [&'static str],
    /// Letters of short options, also in clusters.
    short: &'static str,
    /// Whole words, or what stands before `=` in them.
    words: &'static [&'static str],
}

#[rustfmt::skip]
const ARGUMENTS: &[Arguments] = &[
    Arguments { programs: &["find"], long: &[], short: "", words: &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"] },
    Arguments { programs: &["fd", "fdfind"], long: &["--exec", "--exec-batch"], short: "xX", words: &[] },
    Arguments { programs: &["rg"], long: &["--pre", "--hostname-bin", "--search-zip"], short: "z", words: &[] },
    Arguments { programs: &["tar", "gtar", "bsdtar"], long: &["--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script", "--rmt-command", "--remove-files"], short: "IF", words: &[] },
    Arguments { programs: &["sort"], long: &["--output", "--compress-program", "--temporary-directory"], short: "oT", words: &[] },
    Arguments { programs: &["curl"], long: &["--output", "--output-dir", "--remote-name", "--remote-name-all", "--remote-header-name", "--config", "--cookie-jar", "--dump-header", "--trace", "--trace-ascii", "--stderr", "--libcurl", "--upload-file", "--create-dirs", "--etag-save", "--hsts", "--alt-svc", "--engine"], short: "oOKcDTJ", words: &[] },
    Arguments { programs: &["wget"], long: &["--output-document", "--output-file", "--append-output", "--directory-prefix", "--execute", "--config", "--use-askpass", "--post-file", "--body-file", "--input-file", "--save-cookies", "--warc-file", "--hsts-file"], short: "OoaPiex", words: &[] },
    Arguments { programs: &["man"], long: &["--pager", "--html", "--gxditview", "--preprocessor", "--config-file", "--troff-device"], short: "PHCXTZ", words: &[] },
    Arguments { programs: &["less", "more", "most"], long: &["--log-file", "--LOG-FILE", "--lesskey-file", "--lesskey-src", "--tag-file"], short: "oOkT", words: &[] },
    Arguments { programs: &["scp", "sftp"], long: &[], short: "oFSD", words: &[] },
    Arguments { programs: &["rsync"], long: &["--rsh", "--rsync-path", "--log-file", "--write-batch", "--only-write-batch", "--temp-dir", "--backup-dir", "--partial-dir", "--remove-source-files"], short: "eT", words: &[] },
    Arguments { programs: &["zip"], long: &["--unzip-command", "--test", "--move"], short: "Tm", words: &[] },
    Arguments { programs: &["base64", "base32"], long: &["--output"], short: "o", words: &[] },
    Arguments { programs: &["tree", "sdiff"], long: &["--output"], short: "o", words: &[] },
    Arguments { programs: &["xxd"], long: &["--revert"], short: "r", words: &[] },
    Arguments { programs: &["file"], long: &["--compile"], short: "C", words: &[] },
    Arguments { programs: &["date"], long: &["--set"], short: "s", words: &[] },
    Arguments { programs: &["yq"], long: &["--inplace", "--in-place"], short: "i", words: &[] },
    Arguments { programs: &["go"], long: &["--exec", "--toolexec", "--vettool", "--overlay"], short: "", words: &["-exec", "-toolexec", "-vettool", "-overlay", "-o"] },
    Arguments { programs: &["cargo"], long: &["--config"], short: "", words: &[] },
    Arguments { programs: &["npm", "yarn", "pnpm"], long: &["--script-shell", "--node-options"], short: "", words: &[] },
    Arguments { programs: &["openssl"], long: &[], short: "", words: &["-out", "-engine", "-provider"] },
    Arguments { programs: &["printf"], long: &[], short: "v", words: &[] },
    Arguments { programs: &["dd"], long: &[], short: "", words: &["of"] },
    Arguments { programs: &["sqlite3"], long: &[], short: "", words: &["-cmd", "-init"] },
];

/// What runs inside a command that runs another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrapped {
    /// It runs nothing else.
    No,
    /// Its words from here on are a command.
    Command(usize),
    /// Its words from here on are a script.
    Script(usize, String),
    /// It cannot be told.
    Unknown,
    /// It runs what comes in on a pipe or from a terminal.
    Input,
}

/// Last part of a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What a command runs for another one.
pub(super) fn wrapped(words: &[&str]) -> Wrapped {
    let Some((program, args)) = words.split_first() else {
        return Wrapped::No;
    };
    let program = base_name(program);
    let first = args.first().copied().unwrap_or_default();
    let plain = !first.is_empty() && !first.starts_with('-');
    if SHELLS.contains(&program) {
        return match args {
            [] => Wrapped::Input,
            ["-c", script] => Wrapped::Script(2, (*script).to_owned()),
            _ if plain => Wrapped::No,
            ["--version" | "--help"] => Wrapped::No,
            _ => Wrapped::Unknown,
        };
    }
    if !WRAPPERS.contains(&program) || args.is_empty() {
        return Wrapped::No;
    }
    match program {
        "source" | "." | "alias" | "trap" => Wrapped::No,
        "command" if matches!(first, "-v" | "-V") => Wrapped::No,
        "eval" => Wrapped::Script(1, args.join(" ")),
        "time" if first == "-p" => Wrapped::Command(2),
        "env" if plain && !first.contains('=') => Wrapped::Command(1),
        "sudo" | "doas" | "nohup" | "setsid" | "exec" | "builtin" | "command" | "time"
        | "busybox" | "nice"
            if plain && !first.contains('=') =>
        {
            Wrapped::Command(1)
        }
        "nice" if first == "-n" && args.len() > 2 => Wrapped::Command(3),
        "timeout" | "gtimeout" if is_duration(first) => Wrapped::Command(2),
        "stdbuf" => match args.iter().position(|arg| !arg.starts_with('-')) {
            Some(place) if args.iter().take(place).all(|arg| arg.len() > 2) => {
                Wrapped::Command(place + 1)
            }
            _ => Wrapped::Unknown,
        },
        _ => Wrapped::Unknown,
    }
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    number.starts_with(|c: char| c.is_ascii_digit())
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// How many words of a command a rule must spell out to cover it by itself.
pub(super) fn words_to_spell(words: &[&str]) -> usize {
    let own = hazard(words).map_or(0, |place| place + 1);
    let inner = match wrapped(words) {
        Wrapped::No => 0,
        Wrapped::Command(at) => {
            at + words
                .get(at..)
                .map_or(0, |inner| words_to_spell(inner).max(1))
        }
        Wrapped::Script(at, _) => words.len().max(at + 1),
        Wrapped::Unknown => words.len(),
        Wrapped::Input => usize::MAX - 1,
    };
    own.max(inner)
}

/// Place of the first word that makes a command do what its name does not say.
pub(super) fn hazard(words: &[&str]) -> Option<usize> {
    let (program, args) = words.split_first()?;
    let program = base_name(program);
    if STATEFUL.contains(&program) && !args.is_empty() {
        return Some(1);
    }
    let listed = ARGUMENTS
        .iter()
        .find(|entry| entry.programs.contains(&program))
        .and_then(|entry| args.iter().position(|arg| entry.holds(arg)));
    let special = match program {
        "git" => return git_hazard(words),
        "sed" | "gsed" => sed_hazard(args),
        "awk" | "gawk" | "mawk" | "nawk" => args.iter().position(|arg| awk_runs(arg)),
        "tar" | "gtar" | "bsdtar" => {
            // The old style has its options in the first word without a dash.
            args.first()
                .filter(|first| !first.starts_with('-') && first.contains(['I', 'F']))
                .map(|_| 0)
        }
        "uniq" => args
            .iter()
            .enumerate()
            .filter(|(_, arg)| !arg.starts_with('-') || **arg == "-")
            .map(|(place, _)| place)
            .nth(1),
        "less" | "more" | "most" | "vi" | "vim" | "view" => {
            args.iter().position(|arg| arg.starts_with('+'))
        }
        "test" | "[" => args
            .iter()
            .position(|arg| arg.contains('[') && arg.contains(['$', '`'])),
        "sqlite3" => args.iter().position(|arg| arg.contains('.')),
        _ => None,
    };
    [listed, special]
        .into_iter()
        .flatten()
        .min()
        .map(|place| place + 1)
}

impl Arguments {
    fn holds(&self, arg: &str) -> bool {
        let name = arg.split('=').next().unwrap_or(arg);
        if self.words.contains(&name) {
            return true;
        }
        if arg.starts_with("--") {
            return name.len() > 2 && self.long.iter().any(|long| long.starts_with(name));
        }
        arg.starts_with('-') && arg.contains(|c| self.short.contains(c))
    }
}

fn git_hazard(words: &[&str]) -> Option<usize> {
    const HARMLESS: &[&str] = &["--no-pager", "-P", "--version", "--no-optional-locks"];
    const LONG: &[&str] = &[
        "--output",
        "--ext-diff",
        "--textconv",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--open-files-in-pager",
        "--extcmd",
        "--config",
        "--template",
        "--separate-git-dir",
        "--output-directory",
        "--no-index",
        "--config-env",
        "--exec-path",
    ];
    const SUBCOMMANDS: &[&str] = &[
        "config",
        "submodule",
        "filter-branch",
        "difftool",
        "mergetool",
        "daemon",
        "upload-pack",
        "receive-pack",
        "shell",
        "http-backend",
        "instaweb",
        "web--browse",
        "help",
        "gui",
        "citool",
        "credential",
        "p4",
        "svn",
        "send-email",
        "maintenance",
        "hook",
        "fast-import",
        "fsmonitor--daemon",
        "credential-store",
        "credential-cache",
        "archimport",
        "cvsimport",
        "cvsserver",
        "remote-ext",
    ];
    let mut place = 1;
    while let Some(option) = words.get(place).filter(|word| word.starts_with('-')) {
        if !HARMLESS.contains(option) {
            return Some(place);
        }
        place += 1;
    }
    let subcommand = *words.get(place)?;
    if SUBCOMMANDS.contains(&subcommand) {
        return Some(place);
    }
    let short = match subcommand {
        "grep" => "O",
        "clone" => "uc",
        "ls-remote" => "u",
        "rebase" => "x",
        "archive" | "format-patch" => "o",
        _ => "",
    };
    let risky = Arguments {
        programs: &[],
        long: LONG,
        short,
        words: if subcommand == "bisect" {
            &["run"]
        } else {
            &[]
        },
    };
    words
        .iter()
        .skip(place + 1)
        .position(|arg| risky.holds(arg) || arg.starts_with("ext::"))
        .map(|offset| place + 1 + offset)
}

/// Scripts of sed that only print, delete or replace, one command each; options that do no more.
fn sed_hazard(args: &[&str]) -> Option<usize> {
    let mut script_seen = false;
    let mut script_next = false;
    for (place, arg) in args.iter().enumerate() {
        if script_next {
            script_next = false;
            script_seen = true;
            if !sed_is_harmless(arg) {
                return Some(place);
            }
            continue;
        }
        match *arg {
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet"
            | "--silent" | "--regexp-extended" | "--posix" | "--sandbox" => {}
            "-e" | "--expression" => script_next = true,
            option if option.starts_with('-') && option.len() > 1 => return Some(place),
            _ if script_seen => {}
            script => {
                script_seen = true;
                if !sed_is_harmless(script) {
                    return Some(place);
                }
            }
        }
    }
    None
}

fn sed_is_harmless(script: &str) -> bool {
    let command = sed_address(script);
    match command.chars().next() {
        Some('p' | 'd' | 'q' | '=') => command.len() == 1,
        Some('s') => sed_replaces_only(command.get(1..).unwrap_or_default()),
        _ => false,
    }
}

/// What follows the address: numbers, `$`, or expressions between slashes.
fn sed_address(script: &str) -> &str {
    let mut rest = script;
    for _ in 0..2 {
        if let Some(expression) = rest.strip_prefix('/') {
            let Some(end) = expression.find(['/', '\\', '\n']) else {
                return "";
            };
            match expression
                .get(end..)
                .and_then(|tail| tail.strip_prefix('/'))
            {
                Some(tail) => rest = tail,
                None => return "",
            }
        } else {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '$');
        }
        match rest.strip_prefix(',') {
            Some(second) => rest = second,
            None => break,
        }
    }
    rest
}

fn sed_replaces_only(rest: &str) -> bool {
    let mut chars = rest.chars();
    let Some(delimiter) = chars.next().filter(char::is_ascii_punctuation) else {
        return false;
    };
    let mut fields = 0;
    while fields < 2 {
        match chars.next() {
            None | Some('\n') => return false,
            Some('\\') => {
                if chars.next().is_none_or(|c| c == '\n') {
                    return false;
                }
            }
            Some(c) if c == delimiter => fields += 1,
            Some(_) => {}
        }
    }
    delimiter != '\\' && chars.all(|flag| matches!(flag, 'g' | 'i' | 'I' | 'p' | '0'..='9'))
}

fn awk_runs(arg: &str) -> bool {
    match arg.strip_prefix('-') {
        Some(option) => !matches!(option.chars().next(), Some('F' | 'v')),
        None => arg.contains(['|', '>', '@']) || arg.contains("system") || arg.contains("getline"),
    }
}

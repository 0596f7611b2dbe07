//! Files that steer the tools which act on a workspace: `.git`, `.a3s`, `.a3s-code`.
//!
//! Invariant: a spelling that some file system takes for one of these names counts as that name. Case is
//! folded, characters that file systems ignore are removed, and so are the endings that some of them drop.

use crate::tools::PathUse;

const NAMES: &[&str] = &[".git", ".a3s", ".a3s-code"];

/// The first path that leads to a control file, at any depth, or none.
#[must_use]
pub fn control_file(paths: &[PathUse]) -> Option<String> {
    control_file_beneath("", paths)
}

/// As [`control_file`], but what an absolute path shares with `root` does not count: a workspace may
/// itself lie inside a folder with such a name.
#[must_use]
pub fn control_file_beneath(root: &str, paths: &[PathUse]) -> Option<String> {
    let root = root.trim_end_matches('/');
    paths
        .iter()
        .find(|used| leads_to_control_file(beneath(root, &used.path)))
        .map(|used| used.path.clone())
}

fn beneath<'a>(root: &str, path: &'a str) -> &'a str {
    if root.is_empty() {
        return path;
    }
    match path.strip_prefix(root) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => path,
    }
}

fn leads_to_control_file(path: &str) -> bool {
    path.split(['/', '\\']).any(|component| {
        let name = folded(component);
        // `.git::$INDEX_ALLOCATION` names the same folder on NTFS.
        let name = name.split(':').next().unwrap_or_default();
        let name = name.trim_end_matches([' ', '.']);
        NAMES.contains(&name) || is_short_name(name)
    })
}

/// The names that NTFS and FAT make up for `.git`.
fn is_short_name(name: &str) -> bool {
    name.strip_prefix("git~")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn folded(component: &str) -> String {
    component
        .chars()
        .filter(|&c| !is_ignorable(c))
        .flat_map(fold)
        .collect()
}

/// Folds case, and what normal forms and case folding turn into ASCII letters. The names are ASCII, so
/// nothing else can become one of their characters.
fn fold(c: char) -> impl Iterator<Item = char> {
    let c = match c {
        '\u{130}' | '\u{131}' => 'i',
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{2010}'..='\u{2012}' | '\u{fe63}' => '-',
        '\u{2024}' | '\u{fe52}' => '.',
        _ => c,
    };
    c.to_lowercase()
}

/// Characters that file systems with case folding or HFS+ leave out of a comparison, and combining dots
/// and other marks that lowering a letter may leave behind.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{61c}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

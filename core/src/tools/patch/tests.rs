//! Diffs taken apart and applied.

use super::apply::apply;
use super::hunks::parse;
use proptest::prelude::*;

/// The text after a diff, or the kind of the error.
fn patched(before: &str, diff: &str) -> Result<String, String> {
    let hunks = parse(diff).map_err(|_| "invalid_argument".to_owned())?;
    apply("f", before, &hunks, "diff").map_err(|error| error.kind.tag().to_owned())
}

#[test]
fn hunks_apply_where_they_say() {
    for (before, diff, after) in [
        ("a\nb\nc\n", "@@ -2,1 +2,1 @@\n-b\n+B\n", "a\nB\nc\n"),
        ("a\nb\nc\n", "@@ -2 +2 @@ fn f()\n-b\n+B\n", "a\nB\nc\n"),
        ("a\nb\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n", "a\nc\n"),
        ("a\nb\n", "@@ -0,0 +1,1 @@\n+top\n", "top\na\nb\n"),
        ("a\nb\n", "@@ -1,0 +2,1 @@\n+x\n", "a\nx\nb\n"),
        ("a\nb\n", "@@ -2,0 +3,1 @@\n+x\n", "a\nb\nx\n"),
        ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"),
        (
            "",
            "@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n",
            "a",
        ),
        ("a\n", "@@ -1,1 +0,0 @@\n-a\n", ""),
        (
            "a\nb\nc\nd\n",
            "@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-d\n+D\n",
            "A\nb\nc\nD\n",
        ),
        // Headers and what stands around them.
        (
            "a\n",
            "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\n",
            "b\n",
        ),
        // Lines that look like headers are lines inside a hunk.
        ("-- x\n", "@@ -1 +1 @@\n--- x\n+++ y\n", "++ y\n"),
        // An empty line of context may have lost its space.
        ("a\n\nb\n", "@@ -1,3 +1,3 @@\n-a\n+A\n\n b\n", "A\n\nb\n"),
        // Endings and the mark at the beginning are the file's.
        (
            "a\r\nb\r\n",
            "@@ -1,2 +1,3 @@\n a\n+x\n b\n",
            "a\r\nx\r\nb\r\n",
        ),
        (
            "a\nb\n",
            "@@ -1,2 +1,3 @@\r\n a\r\n+x\r\n b\r\n",
            "a\nx\nb\n",
        ),
        ("\u{feff}a\nb\n", "@@ -1 +1 @@\n-a\n+A\n", "\u{feff}A\nb\n"),
        // Newlines at the end.
        ("a\nb", "@@ -1 +1 @@\n-a\n+A\n", "A\nb"),
        (
            "a\nb",
            "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n",
            "a\nB\n",
        ),
        (
            "a\nb\n",
            "@@ -2 +2 @@\n-b\n+B\n\\ No newline at end of file\n",
            "a\nB",
        ),
        (
            "a\nb",
            "@@ -2 +1,0 @@\n-b\n\\ No newline at end of file\n",
            "a\n",
        ),
    ] {
        assert_eq!(
            patched(before, diff).as_deref(),
            Ok(after),
            "{before:?} {diff:?}"
        );
    }
}

// claims: AST-09
#[test]
fn a_file_that_is_not_as_the_diff_says_is_a_conflict() {
    for (before, diff) in [
        ("a\nb\nc\n", "@@ -2 +2 @@\n-x\n+B\n"),
        ("a\nb\nc\n", "@@ -1,2 +1,2 @@\n-b\n+B\n c\n"),
        ("a\nb \n", "@@ -2 +2 @@\n-b\n+B\n"),
        ("a\n", "@@ -2 +2 @@\n-b\n+B\n"),
        ("a\n", "@@ -9,0 +10 @@\n+B\n"),
        ("a\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"),
        ("a\nb", "@@ -2 +2 @@\n-b\n+B\n"),
        (
            "a\nb\n",
            "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n",
        ),
        ("a", "@@ -1,0 +2 @@\n+b\n"),
        ("", "@@ -1 +1 @@\n-a\n+b\n"),
    ] {
        let refused = patched(before, diff);
        assert_eq!(
            refused,
            Err("version_conflict".to_owned()),
            "{before:?} {diff:?}"
        );
    }
    let mixed = patched("a\r\nb\n", "@@ -1 +1 @@\n-a\n+A\n");
    assert_eq!(mixed, Err("unsupported".to_owned()));
}

#[test]
fn a_diff_that_is_none_is_refused_and_named() {
    for diff in [
        "",
        "please change line 1\n",
        "```diff\n@@ -1 +1 @@\n-a\n+b\n```\n",
        "*** Begin Patch\n",
        "@@ -1,3 +1,3 @@\n-a\n+A\n b\n",
        "@@ -1,1 +1,1 @@\n-a\n+A\n b\n",
        "@@ -1,1 +1,1 @@\n-a\n+A\n+B\n",
        "@@ -1,2 +1,1 @@\n-a\n+A\n@@ -5 +5 @@\n-a\n+A\n",
        "@@ -1,1 +1,1 @@\n-a\nA\n",
        "@@ -0,1 +1,1 @@\n-a\n+A\n",
        "@@ -x,1 +1,1 @@\n-a\n+A\n",
        "@@ -1,1 1,1 @@\n-a\n+A\n",
        "@@ -99999999999999999999 +1 @@\n-a\n+A\n",
        "@@ -+1 +1 @@\n-a\n+A\n",
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
        "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "new file mode 100644\n@@ -0,0 +1 @@\n+a\n",
        "rename from a\n@@ -1 +1 @@\n-a\n+b\n",
        "@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        "@@ -1,2 +1,2 @@\n a\n\\ No newline at end of file\n-b\n+c\n",
        "@@ -18446744073709551615,1 +1,1 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n",
    ] {
        if let Ok(hunks) = parse(diff) {
            let applied = apply("f", "a\nb\n", &hunks, "diff");
            assert!(applied.is_err(), "{diff:?}: {applied:?}");
            continue;
        }
        let reason = parse(diff).unwrap_err();
        assert!(!reason.is_empty(), "{diff:?}");
    }
    for out_of_order in [
        "@@ -2 +2 @@\n-b\n+B\n@@ -1 +1 @@\n-a\n+A\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -2 +2 @@\n-b\n+B\n",
        "@@ -1 +1 @@\n-a\n+A\n\\ No newline at end of file\n",
    ] {
        assert_eq!(
            patched("a\nb\n", out_of_order),
            Err("invalid_argument".to_owned())
        );
    }
}

proptest! {
    /// The diff of a receipt, applied to the old text, gives the new one.
    #[test]
    fn a_receipt_can_be_applied(
        before in "[ab\u{e9}\n]{0,60}",
        after in "[ab\u{e9}\n]{0,60}",
    ) {
        let diff = super::super::change::unified_diff("f", Some(&before), &after);
        if before == after {
            prop_assert!(diff.is_empty());
        } else {
            prop_assert_eq!(patched(&before, &diff), Ok(after));
        }
    }

    #[test]
    fn no_diff_makes_it_panic(
        before in "[ab\r\n\u{feff}]{0,20}",
        diff in "(@@ -[0-9]{1,2}(,[0-9])? \\+[0-9](,[0-9])? @@\n|[ +-][ab]{0,2}\r?\n|\\\\\n|--- a\n){0,12}",
    ) {
        let _ = patched(&before, &diff);
    }
}

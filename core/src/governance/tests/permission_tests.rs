//! Rules for tools, paths and texts; the default posture; control files; skill limits.

use crate::governance::{
    ActiveSkillLimits, PermissionChecker, PermissionQuery, PermissionRules, control_file,
    control_file_beneath,
};
use crate::tools::PathUse;
use PermissionDecision::{Allow, Ask, Deny};
use a3s_code_contract::{PermissionDecision, PermissionPolicy, PermissionRule};

fn list(rules: &[&str]) -> Vec<PermissionRule> {
    rules
        .iter()
        .map(|rule| PermissionRule::Text((*rule).to_owned()))
        .collect()
}

fn policy(
    deny: &[&str],
    allow: &[&str],
    ask: &[&str],
    default_decision: PermissionDecision,
) -> PermissionPolicy {
    PermissionPolicy {
        deny: list(deny),
        allow: list(allow),
        ask: list(ask),
        default_decision,
        enabled: None,
    }
}

fn query<'a>(tool: &'a str, subjects: &'a [String], paths: &'a [PathUse]) -> PermissionQuery<'a> {
    PermissionQuery {
        tool,
        subjects,
        command_line: None,
        read_only: false,
        inside_workspace: true,
        paths,
        requires_confirmation: false,
    }
}

/// A call whose subject is a path.
fn on_path(rules: &PermissionRules, tool: &str, path: &str) -> PermissionDecision {
    let paths = [PathUse {
        path: path.to_owned(),
        write: true,
    }];
    rules
        .decide(&query(tool, &[path.to_owned()], &paths))
        .decision
}

/// A call whose subject is some text.
fn on_text(rules: &PermissionRules, tool: &str, text: &str) -> PermissionDecision {
    rules.decide(&query(tool, &[text.to_owned()], &[])).decision
}

#[test]
fn deny_comes_before_allow_before_ask_before_the_default() {
    let rules = PermissionRules::compile(&policy(
        &["write(a)"],
        &["write(a)", "write(b)"],
        &["write(b)", "write(c)"],
        Deny,
    ))
    .unwrap();
    assert_eq!(on_path(&rules, "write", "a"), Deny);
    assert_eq!(on_path(&rules, "write", "b"), Allow);
    assert_eq!(on_path(&rules, "write", "c"), Ask);
    assert_eq!(on_path(&rules, "write", "d"), Deny);
    let none = PermissionRules::compile(&PermissionPolicy::default()).unwrap();
    assert_eq!(on_path(&none, "read", "a"), Ask);
    let off = PermissionRules::compile(&PermissionPolicy {
        enabled: Some(false),
        ..policy(&["*"], &[], &[], Deny)
    })
    .unwrap();
    assert_eq!(on_path(&off, "write", "a"), Allow);
}

#[test]
fn verdicts_name_the_rule_or_the_option() {
    let rules = PermissionRules::compile(&policy(&["Write(a)"], &["read"], &[], Ask)).unwrap();
    let subjects = ["a".to_owned()];
    let denied = rules.decide(&query("write", &subjects, &[]));
    assert_eq!(denied.rule.as_deref(), Some("Write(a)"));
    assert!(denied.reason.contains("permissionPolicy") && denied.reason.contains("Write(a)"));
    let asked = rules.decide(&query("edit", &subjects, &[]));
    assert!(
        asked.reason.contains("permissionPolicy") && asked.reason.contains("confirmationPolicy")
    );
    let default = PermissionRules::default_posture().decide(&query("write", &subjects, &[]));
    assert_eq!(default.decision, Ask);
    assert!(
        default.reason.contains("permissionPolicy")
            && default.reason.contains("confirmationPolicy")
    );
}

#[test]
fn the_default_posture_allows_reading_inside_the_workspace_only() {
    let rules = PermissionRules::default_posture();
    let subjects = ["a".to_owned()];
    let base = query("read", &subjects, &[]);
    let read = PermissionQuery {
        read_only: true,
        ..base
    };
    assert_eq!(rules.decide(&read).decision, Allow);
    for asked in [
        base,
        PermissionQuery {
            inside_workspace: false,
            ..read
        },
        PermissionQuery {
            command_line: Some("ls"),
            ..read
        },
        PermissionQuery {
            requires_confirmation: true,
            ..read
        },
        PermissionQuery {
            tool: "web_fetch",
            ..read
        },
        PermissionQuery {
            tool: "web_search",
            ..read
        },
        PermissionQuery {
            tool: "mcp__a__b",
            ..read
        },
    ] {
        assert_eq!(rules.decide(&asked).decision, Ask, "{asked:?}");
    }
}

#[test]
fn a_tools_own_wish_raises_allow_and_lowers_nothing() {
    let subjects = ["a".to_owned()];
    let wished = PermissionQuery {
        requires_confirmation: true,
        ..query("write", &subjects, &[])
    };
    for (rules, expected) in [
        (policy(&[], &["write"], &[], Ask), Ask),
        (policy(&["write"], &["write"], &[], Allow), Deny),
        (policy(&[], &[], &[], Deny), Deny),
        (policy(&[], &[], &[], Allow), Ask),
    ] {
        assert_eq!(
            PermissionRules::compile(&rules)
                .unwrap()
                .decide(&wished)
                .decision,
            expected
        );
    }
}

#[test]
fn tool_names_are_compared_generously() {
    for (rule, tool, expected) in [
        ("Read", "read", true),
        ("READ", "read", true),
        ("read", "functions.read", true),
        ("functions.read", "read", true),
        ("Functions.Read", "read", true),
        ("read", "read_many", false),
        ("re*", "read", true),
        ("*", "anything", true),
        ("r?ad", "read", true),
        ("r?d", "read", false),
        ("web_*", "web_fetch", true),
        ("web_*", "write", false),
        ("mcp__github", "mcp__github__search", true),
        ("mcp__github", "mcp__github", true),
        ("mcp__GitHub", "mcp__github__x", true),
        ("mcp__github", "mcp__githubby__x", false),
        ("mcp__git", "mcp__github__x", false),
        ("mcp__github__search", "mcp__github__search", true),
        ("mcp__github__search", "mcp__github__search__all", false),
        ("mcp__github__*", "mcp__github__x", true),
        ("mcp__*", "mcp__a__b", true),
        ("read", "Read", true),
        ("read(*)", "read", true),
        ("read(**)", "read", true),
    ] {
        let rules = PermissionRules::compile(&policy(&[], &[rule], &[], Deny)).unwrap();
        assert_eq!(
            on_text(&rules, tool, "x/y") == Allow,
            expected,
            "{rule} on {tool}"
        );
        let rules = PermissionRules::compile(&policy(&[rule], &[], &[], Allow)).unwrap();
        assert_eq!(
            on_text(&rules, tool, "x/y") == Deny,
            expected,
            "{rule} on {tool}"
        );
    }
}

#[test]
fn rules_of_the_old_search_tools_become_modes() {
    for (rule, subject, expected) in [
        ("Grep", "grep needle src", true),
        ("Grep", "glob *.rs", false),
        ("Glob", "glob src/*.rs", true),
        ("Bm25(*)", "bm25 a b", true),
        ("Grep(needle:*)", "grep needle src", true),
        ("Grep(needle:*)", "grep needles src", false),
        ("Grep(needle:*)", "bm25 needle src", false),
        ("Grep(a*)", "grep abc", true),
        ("search(grep:*)", "grep a b/c", true),
        ("search", "bm25 x", true),
    ] {
        let rules = PermissionRules::compile(&policy(&[], &[rule], &[], Deny)).unwrap();
        assert_eq!(
            on_text(&rules, "search", subject) == Allow,
            expected,
            "{rule} on {subject}"
        );
    }
}

#[test]
fn allow_rules_for_paths_hold_for_the_path_and_its_normal_form() {
    for (rule, path, expected) in [
        ("write(src/**)", "src/a/b.rs", true),
        ("write(src/**)", "./src/a.rs", false),
        ("write(src/**)", "src/../b.rs", false),
        ("write(src/**)", "src/a/../../b", false),
        ("write(src/*)", "src/a.rs", true),
        ("write(src/*)", "src/a/b.rs", false),
        ("write(**/*.md)", "a/b/c.md", true),
        ("write(**/*.md)", "c.md", true),
        ("write(*.md)", "a/c.md", false),
        ("write(*.md)", "c.md", true),
        ("write(a?.md)", "ab.md", true),
        ("write(a?.md)", "a/.md", false),
        ("write(src:*)", "src/a", true),
        ("write(src:*)", "src", true),
        ("write(src:*)", "srcx", false),
        ("write(src:*)", "src-evil/x", false),
        ("write(src:*)", "src.bak", false),
        ("write(src:*)", "src x", false),
        ("write(src/:*)", "src/a", true),
        ("write(src/:*)", "src/../x", false),
        ("write(a.txt)", "a.txt", true),
        ("write(a.txt)", "b/a.txt", false),
        ("write(a.txt)", "/w/a.txt", false),
        ("write(a[b]{c}.txt)", "a[b]{c}.txt", true),
        ("write(a[b].txt)", "ab.txt", false),
        ("write(a.b)", "axb", false),
        ("write(src/**)", "src", false),
        ("write", "../x", true),
    ] {
        let rules = PermissionRules::compile(&policy(&[], &[rule], &[], Deny)).unwrap();
        assert_eq!(
            on_path(&rules, "write", path) == Allow,
            expected,
            "{rule} on {path}"
        );
    }
}

#[test]
fn deny_rules_for_paths_hold_however_the_path_is_written() {
    for (rule, path, expected) in [
        ("read(.env)", ".env", true),
        ("read(.env)", "./.env", true),
        ("read(.env)", "a/../.env", true),
        ("read(.env)", ".//.env", true),
        ("read(.env)", "/w/.env", true),
        ("read(.env)", "../w/.env", true),
        ("read(.env)", "a/.env", false),
        ("read(.env)", ".env.sample", false),
        ("read(**/.env)", "a/b/.env", true),
        ("read(secrets/**)", "x/../secrets/a/b", true),
        ("read(secrets/**)", "/w/secrets/a", true),
        ("read(secrets:*)", "secrets/a", true),
        ("read(secrets:*)", "./secrets/./a", true),
        ("read(secrets:*)", "secretsx", false),
        ("read(/etc/**)", "/etc/passwd", true),
        ("read(/etc/**)", "/x/../etc/passwd", true),
        ("read(*.pem)", "a.pem", true),
        ("read", "a", true),
    ] {
        let rules = PermissionRules::compile(&policy(&[rule], &[], &[], Allow)).unwrap();
        assert_eq!(
            on_path(&rules, "read", path) == Deny,
            expected,
            "{rule} on {path}"
        );
        let rules = PermissionRules::compile(&policy(&[], &[], &[rule], Allow)).unwrap();
        assert_eq!(
            on_path(&rules, "read", path) == Ask,
            expected,
            "{rule} on {path}"
        );
    }
}

#[test]
fn a_search_is_matched_with_the_normal_form_of_its_path() {
    let subjects = ["grep needle src/../secrets".to_owned()];
    let paths = [PathUse {
        path: "src/../secrets".to_owned(),
        write: false,
    }];
    let denying =
        PermissionRules::compile(&policy(&["search(grep needle secrets:*)"], &[], &[], Allow))
            .unwrap();
    assert_eq!(
        denying.decide(&query("search", &subjects, &paths)).decision,
        Deny
    );
    let allowing =
        PermissionRules::compile(&policy(&[], &["search(grep needle src/**)"], &[], Deny)).unwrap();
    assert_eq!(
        allowing
            .decide(&query("search", &subjects, &paths))
            .decision,
        Deny
    );
}

#[test]
fn every_member_must_be_allowed_and_one_is_enough_to_refuse() {
    let subjects = ["src/a".to_owned(), "secret".to_owned()];
    let paths = subjects.clone().map(|path| PathUse { path, write: false });
    let allowing = PermissionRules::compile(&policy(&[], &["read(src/**)"], &[], Deny)).unwrap();
    assert_eq!(
        allowing.decide(&query("read", &subjects, &paths)).decision,
        Deny
    );
    assert_eq!(
        allowing
            .decide(&query("read", &subjects[..1], &paths[..1]))
            .decision,
        Allow
    );
    let denying =
        PermissionRules::compile(&policy(&["read(secret)"], &["read(src/**)"], &[], Allow))
            .unwrap();
    assert_eq!(
        denying.decide(&query("read", &subjects, &paths)).decision,
        Deny
    );
    // Nothing to match is not a match.
    assert_eq!(allowing.decide(&query("read", &[], &[])).decision, Deny);
}

#[test]
fn rules_for_bash_hold_for_every_tool_that_runs_a_command_line() {
    let rules =
        PermissionRules::compile(&policy(&["bash(rm:*)"], &["bash(ls:*)"], &[], Ask)).unwrap();
    let subjects = ["x".to_owned()];
    let run = |tool, line| {
        rules
            .decide(&PermissionQuery {
                command_line: Some(line),
                ..query(tool, &subjects, &[])
            })
            .decision
    };
    assert_eq!(run("background", "true; rm x"), Deny);
    assert_eq!(run("background", "ls"), Ask);
    assert_eq!(run("bash", "ls"), Allow);
}

#[test]
fn rules_that_cannot_be_used_are_named() {
    for rule in [
        "", " ", "(x)", "bash(", "bash(x", "bash()", "bash( )", "ba sh", "bash)x(", "bäsh", "a/b",
    ] {
        let error = PermissionRules::compile(&policy(&[], &["read", rule], &[], Ask)).unwrap_err();
        assert_eq!((error.list, error.index), ("allow", 1), "{rule}");
        assert!(error.to_string().contains("permissionPolicy.allow[1]"));
    }
    let long = "x".repeat(5000);
    assert!(PermissionRules::compile(&policy(&[&long], &[], &[], Ask)).is_err());
    let many = vec!["read"; 4097];
    assert_eq!(
        PermissionRules::compile(&policy(&[], &[], &many, Ask))
            .unwrap_err()
            .index,
        4096
    );
    let heavy = format!("read({})", "?*".repeat(2000));
    let _ = PermissionRules::compile(&policy(&[&heavy], &[], &[], Ask));
}

#[tokio::test]
async fn rules_are_a_checker() {
    let rules = PermissionRules::compile(&policy(&["read"], &[], &[], Allow)).unwrap();
    let checker: &dyn PermissionChecker = &rules;
    assert_eq!(checker.check(&query("read", &[], &[])).await.decision, Deny);
}

#[test]
fn control_files_are_known_by_every_spelling() {
    let found = |path: &str| {
        control_file(&[PathUse {
            path: path.to_owned(),
            write: true,
        }])
        .is_some()
    };
    for path in [
        ".git",
        ".git/config",
        "a/.git/hooks/x",
        "./.git",
        "a/../.git",
        "/w/.git/x",
        ".a3s",
        ".a3s/x",
        ".a3s-code/y",
        ".GIT/config",
        ".Git",
        ".git ",
        ".git.",
        ".git. .",
        ".g\u{131}t/config",
        ".G\u{130}T",
        ".g\u{200c}it/x",
        ".\u{feff}git",
        ".a3\u{17f}",
        "\u{ff0e}git",
        ".git::$INDEX_ALLOCATION",
        "git~1/config",
        "GIT~1",
        "a\\.git\\config",
        ".git\u{0}",
        ".g\u{ad}it",
    ] {
        assert!(found(path), "{path:?}");
    }
    for path in [
        "",
        "a",
        ".gitignore",
        ".github/x",
        "git",
        ".a3s2",
        "a3s",
        ".a3s-codes",
        "x.git",
        "gito~1",
        "git~",
        "..git",
    ] {
        assert!(!found(path), "{path:?}");
    }
    let paths = [PathUse {
        path: "/home/.a3s/w/a.txt".to_owned(),
        write: true,
    }];
    assert_eq!(control_file_beneath("/home/.a3s/w", &paths), None);
    assert_eq!(control_file(&paths).as_deref(), Some("/home/.a3s/w/a.txt"));
    let paths = [PathUse {
        path: "/home/.a3s/w/.git/x".to_owned(),
        write: true,
    }];
    assert!(control_file_beneath("/home/.a3s/w/", &paths).is_some());
    let paths = [PathUse {
        path: "/home/.a3s/work".to_owned(),
        write: true,
    }];
    assert!(control_file_beneath("/home/.a3s/w", &paths).is_some());
}

#[test]
fn an_active_skill_allows_what_it_lists_and_nothing_else() {
    let limits = ActiveSkillLimits::new("review", ["read", "Bash(git log:*)"]).unwrap();
    assert!(limits.permits("read").is_ok());
    assert!(limits.permits("write").unwrap_err().contains("review"));
    assert!(
        limits.permits("bash").is_err(),
        "an entry with a pattern is no permission for every call"
    );
    let call = |line| {
        limits.permits_call(&PermissionQuery {
            command_line: Some(line),
            requires_confirmation: true,
            ..query("bash", &[], &[])
        })
    };
    assert!(call("git log").is_ok());
    assert!(call("git log; rm x").is_err());
    assert!(
        ActiveSkillLimits::new("none", Vec::<String>::new())
            .unwrap()
            .permits("read")
            .is_err()
    );
    assert!(ActiveSkillLimits::new("bad", ["bash("]).is_err());
}

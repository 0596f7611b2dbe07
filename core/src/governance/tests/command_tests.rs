//! Rules against command lines, in tables.

use crate::governance::{PermissionQuery, PermissionRules};
use a3s_code_contract::{PermissionDecision, PermissionPolicy, PermissionRule};
use std::time::{Duration, Instant};

pub(super) fn rules(deny: &[&str], allow: &[&str], default: PermissionDecision) -> PermissionRules {
    let list = |rules: &[&str]| {
        rules
            .iter()
            .map(|rule| PermissionRule::Text((*rule).to_owned()))
            .collect()
    };
    PermissionRules::compile(&PermissionPolicy {
        deny: list(deny),
        allow: list(allow),
        default_decision: default,
        ..PermissionPolicy::default()
    })
    .unwrap()
}

pub(super) fn decide(rules: &PermissionRules, line: &str) -> PermissionDecision {
    let subjects = [line.to_owned()];
    rules
        .decide(&PermissionQuery {
            tool: "bash",
            subjects: &subjects,
            command_line: Some(line),
            read_only: false,
            inside_workspace: true,
            paths: &[],
            requires_confirmation: false,
        })
        .decision
}

fn allowed(rules: &PermissionRules, line: &str) -> bool {
    decide(rules, line) == PermissionDecision::Allow
}

const NORMAL: &[&str] = &[
    "Bash(ls:*)",
    "Bash(cat:*)",
    "Bash(cargo:*)",
    "Bash(git log:*)",
    "Bash(git diff:*)",
    "Bash(git status:*)",
    "Bash(find:*)",
    "Bash(grep:*)",
    "Bash(rg:*)",
    "Bash(sed:*)",
    "Bash(awk:*)",
    "Bash(sort:*)",
    "Bash(head:*)",
    "Bash(tail:*)",
    "Bash(wc:*)",
    "Bash(echo:*)",
    "Bash(tar:*)",
    "Bash(npm run *)",
    "Bash(npm test)",
    "Bash(cd:*)",
    "Bash(timeout:*)",
    "Bash(git:*)",
    "Bash(man:*)",
    "Bash(curl:*)",
    "Bash(bash:*)",
    "Bash(export:*)",
    "Bash(test:*)",
    "Bash(xargs:*)",
    "Bash(sudo:*)",
    "Bash(env:*)",
    "Bash(uniq:*)",
    "Bash(go test:*)",
    "Bash(make check)",
    "Bash(python3 -m pytest:*)",
    "Bash(true)",
    "Bash(pwd)",
    "Bash(tr:*)",
    "Bash(cut:*)",
    "Bash(nohup:*)",
    "Bash(nice:*)",
    "Bash(eval:*)",
    "Bash(printf:*)",
    "Bash(less:*)",
    "Bash(zip:*)",
    "Bash(jq:*)",
    "Bash(stdbuf:*)",
];

const BENIGN: &[&str] = &[
    "ls",
    "ls -la",
    "ls -la src tests",
    "cat src/main.rs",
    "cat 'a file.txt'",
    "cat \"a file.txt\"",
    "cargo build",
    "cargo test -p a3s-code-core --lib",
    "cargo test -- --nocapture",
    "cargo  build",
    "  cargo build  ",
    "git log",
    "git log --oneline -5",
    "git log --format='%h %s'",
    "git diff HEAD~1 -- src/lib.rs",
    "git status --short",
    "git --no-pager log -3",
    "git show HEAD",
    "git add src/lib.rs",
    "git commit -m 'remove the rm -rf call; done'",
    "git branch -a",
    "git rev-parse HEAD",
    "git push -u origin main",
    "git grep -n needle",
    "git blame -L 3,9 a.rs",
    "find . -name x.rs",
    "find src -type f -newer a",
    "find . -name 'rm'",
    "grep -rn needle src",
    "grep -n 'a|b' f",
    "grep -E '^(a|b)$' f",
    "grep \"it's\" f",
    "rg needle src",
    "rg -n -C3 needle",
    "rg --pretty needle",
    "sed -n 1,20p f",
    "sed -n '1,20p' f",
    "sed 's/a/b/' f",
    "sed 's/a/b/g' f",
    "sed -e 's|a|b|' f",
    "sed '/x/d' f",
    "sed -n '$p' f",
    "sed -E 's/(a)/b/gI' f",
    "awk '{print $1}' f",
    "awk -F: '{print $2}' f",
    "sort f",
    "sort -u f",
    "sort -k2 -n f",
    "head -n 5 f",
    "tail -5 f",
    "wc -l f",
    "echo hello",
    "echo 'a; b && c | d > e'",
    "echo \"a;b\"",
    "echo a\\;b",
    "echo '$(touch x)'",
    "echo '`touch x`'",
    "tar tf a.tgz",
    "tar -tzf a.tgz",
    "npm run test",
    "npm run test --watch",
    "npm test",
    "cd src && ls",
    "cd src && cargo test",
    "git log | head",
    "git log | head -5 | wc -l",
    "ls; pwd",
    "ls || true",
    "ls 2>&1",
    "ls 2>/dev/null",
    "ls >/dev/null 2>&1",
    "ls &>/dev/null",
    "cat </dev/null",
    "timeout 5 cargo test",
    "timeout 1.5m ls",
    "nohup ls",
    "nice -n 5 ls",
    "ls # a comment; rm -rf x",
    "ls \\\n -la",
    "ls\npwd",
    "uniq -c f",
    "go test ./...",
    "make check",
    "python3 -m pytest -q tests",
    "test -f a",
    "bash -c 'ls -la'",
    "bash -c 'cd src && ls'",
    "bash script.sh",
    "printf '%s\\n' a",
    "tr a b",
    "cut -d: -f1 f",
    "jq '.a | .b' f.json",
    "stdbuf -oL ls",
    "curl -s 'https://example.com/a?b=c'",
    "git diff --stat",
    "git stash list",
    "echo a#b",
    "echo a=b",
    "grep -e -x f",
    "find . -maxdepth 2 -print",
    "env ls",
    "sudo ls",
];

const HOSTILE: &[&str] = &[
    // Boundaries.
    "lsx",
    "lsof",
    "cargo-evil x",
    "ls-la",
    "catx",
    "./ls",
    "/bin/ls",
    "\\ls",
    "'ls'",
    "l's'",
    "\"ls\"",
    "$'ls'",
    "l\\s",
    "LS",
    "l\\\ns",
    "npm testx",
    "npm test x",
    "npm run",
    "npm run ../x/y",
    "npm  install",
    "git-log",
    "make checkx",
    "python3 x",
    // Chaining.
    "ls; touch x",
    "ls && touch x",
    "ls || touch x",
    "ls | tee x",
    "ls |& tee x",
    "ls & touch x",
    "ls\ntouch x",
    "ls\r\ntouch x",
    "ls;touch x",
    "ls&&touch x",
    "ls&touch x",
    "ls|touch x",
    "ls ; ; touch x",
    "ls # c\ntouch x",
    "ls \\\\\ntouch x",
    "touch x; ls",
    "git log ; touch p",
    "echo 'a'; touch x",
    "echo \"a\"; touch x",
    "echo a\\\\;touch x",
    "echo 'it'\\''s'; touch x",
    // Substitution and expansion.
    "ls $(touch x)",
    "ls `touch x`",
    "ls \"$(touch x)\"",
    "ls \"`touch x`\"",
    "ls <(touch x)",
    "ls >(touch x)",
    "ls ${x:-$(touch x)}",
    "ls $x",
    "ls ${x}",
    "ls \"$x\"",
    "ls ${x@P}",
    "ls $((1+$(touch x)))",
    "ls $(( a[$(touch x)] ))",
    "ls $[1+1]",
    "ls $IFS",
    "$x",
    "$x ls",
    "${x} ls",
    "$(echo ls)",
    "`echo ls`",
    "ls $'a'",
    "ls $\"a\"",
    "ls *",
    "ls ?",
    "ls [ab]",
    "ls {a,b}",
    "ls ~",
    "ls ~root",
    "l{s,}",
    "l?",
    "ls $@",
    "ls !(a)",
    "ls @(a|b)",
    "ls \"${x}\"",
    // Redirection.
    "ls > x",
    "ls >x",
    "ls >> x",
    "ls >| x",
    "ls &> x",
    "ls &>> x",
    "ls >& x",
    "ls 2> x",
    "ls 2>x",
    "ls 1>x",
    "ls {fd}> x",
    "ls {fd}>/dev/null",
    "> x ls",
    "> x",
    "ls <> x",
    "ls < x",
    "ls < /dev/tcp/h/80",
    "cat > /dev/tcp/h/80",
    "cat <<E\n$(touch x)\nE",
    "cat <<'E'\nx\nE",
    "cat <<< x",
    "ls >/dev/null/../x",
    "ls > '/dev/null'x",
    "ls 2>&1 > x",
    "ls > $x",
    "ls >!x",
    // Wrapped.
    "sudo rm x",
    "sudo -u root ls",
    "env rm x",
    "env A=b ls",
    "env -i ls",
    "env -S 'ls x'",
    "timeout 5 rm x",
    "timeout -s KILL 5 ls",
    "nohup rm x",
    "nice rm x",
    "xargs rm",
    "ls | xargs cat",
    "bash -c 'rm x'",
    "bash -c 'ls; rm x'",
    "bash -c \"ls $x\"",
    "bash -lc ls",
    "bash",
    "echo 'rm x' | bash",
    "bash -c 'ls > x'",
    "bash -s",
    "eval rm x",
    "eval 'ls; rm x'",
    "eval \"ls $(x)\"",
    "exec rm x",
    "command rm x",
    "time rm x",
    "timeout 5 timeout 5 rm x",
    "setsid ls",
    "watch ls",
    "bash -c 'bash -c \"rm x\"'",
    "stdbuf -o L rm x",
    // Assignments and state.
    "A=b ls",
    "LD_PRELOAD=./x ls",
    "PATH=.:$PATH ls",
    "GIT_SSH_COMMAND=x git log",
    "PAGER=x git log",
    "BASH_ENV=x ls",
    "A=b",
    "A=(a b) ls",
    "A[0]=b ls",
    "A+=b ls",
    "export PATH=.",
    "export LD_PRELOAD=x; ls",
    "alias ls=rm",
    "ls() { rm x; }",
    "function ls { rm x; }",
    "source x",
    ". x",
    "trap 'rm x' EXIT",
    "test -v 'a[$(touch x)]'",
    "printf -v PATH x",
    "set -e",
    "unset x",
    // Arguments that run or write.
    "find . -delete",
    "find . -exec rm {} ;",
    "find . -exec rm {} \\;",
    "find . -exec rm {} +",
    "find . -execdir x {} +",
    "find . -ok x {} +",
    "find . -okdir x {} +",
    "find . -fprint x",
    "find . -fprintf x y",
    "find . -fls x",
    "find . -fprint0 x",
    "rg --pre x y",
    "rg --pre=x y",
    "rg --hostname-bin=x y",
    "rg -z x",
    "rg -nz x",
    "sed -i s/a/b/ f",
    "sed -ni s/a/b/ f",
    "sed --in-place s/a/b/ f",
    "sed --in-pl s/a/b/ f",
    "sed 's/a/b/w x' f",
    "sed 's/a/b/e' f",
    "sed 'w x' f",
    "sed '1e touch x' f",
    "sed -n '1,2p;w x' f",
    "sed -f x f",
    "sed 's/a/b/;e x' f",
    "sed -e p -e 'w x' f",
    "sed '1r x' f",
    "sed '/a/w x' f",
    "awk 'BEGIN{system(\"x\")}'",
    "awk '{print > \"x\"}' f",
    "awk '{print | \"x\"}' f",
    "awk '\"x\" | getline' f",
    "awk -f x f",
    "awk --file=x f",
    "tar -xf a --to-command=x",
    "tar --checkpoint=1 --checkpoint-action=exec=x -cf a b",
    "tar -I x -xf a",
    "tar xIf x a",
    "tar --use-compress-program x -xf a",
    "tar --use-c x -xf a",
    "sort -o x f",
    "sort -uo x f",
    "sort --output=x f",
    "sort --out=x f",
    "sort --compress-program=x f",
    "sort --comp x f",
    "git -c a.b=c log",
    "git -C /x log",
    "git --exec-path=x log",
    "git -p log",
    "git log --output=x",
    "git log --outp=x",
    "git diff --ext-diff",
    "git diff --ext",
    "git fetch --upload-pack=x",
    "git fetch --upload-p x",
    "git grep -Ox y",
    "git grep --open-files-in-pager=x y",
    "git clone -u x y",
    "git rebase -x y",
    "git rebase --exec y",
    "git config a b",
    "git bisect run x",
    "git submodule foreach x",
    "git difftool x",
    "git filter-branch x",
    "git help x",
    "git clone ext::x y",
    "git archive -o x HEAD",
    "git show --textconv",
    "git diff --no-index /etc/passwd x",
    "git --git-dir=x log",
    "man --html=x y",
    "man -P x y",
    "man -Hx y",
    "man --pager=x y",
    "curl -o x u",
    "curl -so x u",
    "curl -O u",
    "curl --output x u",
    "curl --outp x u",
    "curl -K x",
    "less +!x f",
    "less -ox f",
    "zip -T a b",
    "zip -TT x a b",
    "uniq f out",
    // Grammar.
    "(ls)",
    "{ ls; }",
    "if ls; then ls; fi",
    "while ls; do ls; done",
    "for f in a b; do ls; done",
    "for f in a; do cat $f; done",
    "case x in x) ls;; esac",
    "! ls",
    "[[ -f x ]]",
    "((1))",
    "coproc ls",
    "select x in a; do ls; done",
    "until ls; do ls; done",
    "time ls",
    // What cannot be read or seen.
    "ls 'a",
    "ls \"a",
    "ls `a",
    "ls $(a",
    "ls )",
    "ls (",
    "ls <<E",
    "ls <",
    "ls >",
    "ls \u{200b}x",
    "ls\u{a0}x",
    "ls \u{202e}x",
    "ls \u{0}x",
    "ls \u{7}",
    "ls \\",
    "",
    "   ",
    "# ls",
    "&",
    ";",
];

#[test]
fn an_allow_rule_covers_one_plain_command() {
    let normal = rules(&[], NORMAL, PermissionDecision::Deny);
    assert!(BENIGN.len() >= 80 && HOSTILE.len() >= 80);
    let asked: Vec<&&str> = BENIGN
        .iter()
        .filter(|line| !allowed(&normal, line))
        .collect();
    assert!(asked.is_empty(), "should be allowed: {asked:#?}");
    let slipped: Vec<&&str> = HOSTILE
        .iter()
        .filter(|line| allowed(&normal, line))
        .collect();
    assert!(slipped.is_empty(), "should not be allowed: {slipped:#?}");
}

#[test]
fn what_a_rule_spells_out_is_covered() {
    for (rule, line, expected) in [
        ("Bash(find . -delete)", "find . -delete", true),
        ("Bash(find . -delete)", "find . -delete x", false),
        ("Bash(find . -delete:*)", "find . -delete", true),
        ("Bash(sudo ls:*)", "sudo ls -la", true),
        ("Bash(sudo ls:*)", "sudo lsof", false),
        ("Bash(sudo find:*)", "sudo find . -delete", false),
        (
            "Bash(git config user.name:*)",
            "git config user.name x",
            true,
        ),
        ("Bash(export A=b)", "export A=b", true),
        ("Bash(export A=b)", "export A=b PATH=x", false),
        ("Bash(cat src/:*)", "cat src/main.rs", true),
        ("Bash(cat src/:*)", "cat src/../../etc/passwd", false),
        ("Bash(cat src/:*)", "cat srcx", false),
        ("Bash(cat src:*)", "cat src/main.rs", false),
        ("Bash(cargo*)", "cargo build", true),
        ("Bash(git log*)", "git log --oneline", true),
        ("Bash(git * --stat)", "git diff HEAD --stat", true),
        ("Bash(git * --stat)", "git diff --stat x", false),
        ("Bash(cat *)", "cat a.txt", true),
        ("Bash(cat *)", "cat a/b.txt", false),
        ("Bash(cat **)", "cat a/b.txt c", true),
        ("Bash(cat ?.txt)", "cat a.txt", true),
        ("Bash(cat ?.txt)", "cat ab.txt", false),
        ("Bash(npm run *)", "npm run a b; rm x", false),
        ("Bash(* --help)", "cargo --help", true),
        ("Bash(* --help)", "find . -delete --help", false),
        ("Bash(* --help)", "cargo $x --help", false),
        ("BASH(ls:*)", "ls", true),
        ("functions.bash(ls:*)", "ls", true),
        ("b*(ls:*)", "ls", true),
        ("Bash(bash -c:*)", "bash -c 'rm x'", false),
        ("Bash(bash -c ls)", "bash -c ls", true),
    ] {
        let rules = rules(&[], &[rule], PermissionDecision::Deny);
        assert_eq!(allowed(&rules, line), expected, "{rule} on {line}");
    }
}

#[test]
fn a_bare_rule_allows_every_line_but_never_past_other_rules() {
    for bare in ["bash", "Bash(*)", "Bash(**)", "Bash(:*)", "*", "ba?h"] {
        let all = rules(&[], &[bare], PermissionDecision::Deny);
        assert!(allowed(&all, "ls > x; $(rm x) | 'unclosed"), "{bare}");
        let guarded = rules(&["bash(rm:*)"], &[bare], PermissionDecision::Deny);
        assert!(
            allowed(&guarded, "ls > x; for f in *; do cat $f; done"),
            "{bare}"
        );
        assert_eq!(decide(&guarded, "ls; rm x"), PermissionDecision::Deny);
        // All of it could not be looked at: a person decides.
        assert_eq!(decide(&guarded, "ls 'unclosed"), PermissionDecision::Ask);
        assert_eq!(decide(&guarded, &"ls;".repeat(65)), PermissionDecision::Ask);
        assert_eq!(
            decide(&guarded, &format!("ls {}", "a".repeat(10_000))),
            PermissionDecision::Ask
        );
        assert_eq!(decide(&guarded, "ls \u{202e}x"), PermissionDecision::Ask);
    }
}

#[test]
fn rules_that_ask_see_what_rules_that_refuse_see() {
    let asking = PermissionRules::compile(&PermissionPolicy {
        ask: vec![PermissionRule::Text("bash(git push:*)".to_owned())],
        allow: vec![PermissionRule::Object {
            rule: "bash(git push --dry-run:*)".to_owned(),
        }],
        default_decision: PermissionDecision::Allow,
        ..PermissionPolicy::default()
    })
    .unwrap();
    assert_eq!(decide(&asking, "true; git push"), PermissionDecision::Ask);
    assert_eq!(
        decide(&asking, "git push --dry-run"),
        PermissionDecision::Allow
    );
    assert_eq!(
        decide(&asking, "git push --dry-run; git push"),
        PermissionDecision::Ask
    );
    assert_eq!(decide(&asking, "git pull"), PermissionDecision::Allow);
}

// hazards: C3
#[test]
fn limits_fail_closed() {
    let listing = rules(
        &[],
        &["bash(ls:*)", "bash(bash:*)"],
        PermissionDecision::Deny,
    );
    assert!(allowed(&listing, &vec!["ls"; 64].join(";")));
    assert!(!allowed(&listing, &vec!["ls"; 65].join(";")));
    assert!(allowed(&listing, &format!("ls{}", " ".repeat(9_000))));
    assert!(!allowed(&listing, &format!("ls {}", "a".repeat(10_000))));
    assert!(!allowed(
        &listing,
        &format!("{}ls{}", "(".repeat(9), ")".repeat(9))
    ));
    let mut nested = "ls".to_owned();
    for _ in 0..10 {
        nested = format!("bash -c '{}'", nested.replace('\'', "'\\''"));
    }
    assert!(!allowed(&listing, &nested));

    let denying = rules(&["bash(rm:*)"], &[], PermissionDecision::Allow);
    for padding in [60, 10_000] {
        let line = format!("{}rm x", "true; ".repeat(padding));
        assert_eq!(
            decide(&denying, &line),
            PermissionDecision::Deny,
            "{padding}"
        );
    }
    for depth in [8, 9, 30, 3000] {
        let line = format!("{}rm x{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(decide(&denying, &line), PermissionDecision::Deny, "{depth}");
        let line = format!("{}rm x{}", "$(".repeat(depth), ")".repeat(depth));
        assert_eq!(decide(&denying, &line), PermissionDecision::Deny, "{depth}");
    }
    let long = format!("{}; rm x", "a".repeat(300_000));
    assert_eq!(decide(&denying, &long), PermissionDecision::Deny);
    assert_eq!(
        decide(&denying, &format!("ls{}; rm x", " ".repeat(300))),
        PermissionDecision::Deny
    );
}

// hazards: C3
#[test]
fn hostile_lines_are_read_quickly() {
    let denying = rules(
        &["bash(rm -rf:*)", "bash(*evil*)"],
        &["bash(ls:*)"],
        PermissionDecision::Allow,
    );
    for (name, line) in [
        ("parentheses", "(".repeat(200_000)),
        ("substitutions", "$(".repeat(100_000)),
        ("backticks", "`".repeat(200_000)),
        ("nested backticks", "`\\".repeat(100_000)),
        ("arithmetic", "$((".repeat(60_000)),
        (
            "balanced arithmetic",
            format!("{}1{}", "((".repeat(20), "))".repeat(20)),
        ),
        ("braces", "${".repeat(100_000)),
        ("quotes", "'\"".repeat(100_000)),
        ("words", format!("sudo {}", "a ".repeat(100_000))),
        (
            "repeated programs",
            format!("sudo {}", "rm ".repeat(80_000)),
        ),
        ("wrappers", "sudo ".repeat(40_000)),
        ("shells", "bash -c ".repeat(20_000)),
        (
            "echoes to shells",
            format!("{}| sh", "echo rm | sh ;".repeat(10_000)),
        ),
        ("documents", "cat <<E\n".repeat(25_000)),
        ("parts", "a;".repeat(100_000)),
        ("backslashes", "\\".repeat(200_000)),
        ("loose", format!("'{}", "rm -r ".repeat(40_000))),
        ("cases", "case x in ".repeat(20_000)),
    ] {
        let started = Instant::now();
        let _ = decide(&denying, &line);
        assert!(
            started.elapsed() < Duration::from_secs(15),
            "{name}: {:?}",
            started.elapsed()
        );
    }
}

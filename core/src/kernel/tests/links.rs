//! Rules speak of files, whatever a link or a spelling calls them.

#![allow(clippy::disallowed_methods, reason = "tests make files")]

use super::support::{allow_all, deny_all};
use crate::PermissionPolicy;
use crate::agent::Agent;
use crate::session::{AgentSession, SessionOptions};
use crate::workspace::test_support::Scratch;
use a3s_code_contract::{AgentConfig, PermissionDecision, PermissionRule};
use serde_json::{Value, json};

async fn open(scratch: &Scratch, policy: Option<PermissionPolicy>) -> AgentSession {
    let options = SessionOptions::new();
    let options = match policy {
        Some(policy) => options.with_permission_policy(policy),
        None => options,
    };
    let agent = Agent::create(AgentConfig::default()).await.unwrap();
    agent.session(scratch.root(), options).await.unwrap()
}

fn tree() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("a", "guarded-text\n");
    scratch.write("caf\u{e9}", "guarded-text\n");
    scratch.write("secret/key", "guarded-text\n");
    scratch.write(".git/config", "guarded-text\n");
    scratch.write("sub/own", "open-text\n");
    scratch.link("alink", "a");
    scratch.link("dlink", "secret");
    scratch.link("self", ".");
    scratch.link("glink", ".git");
    scratch.link("sub/up", "..");
    scratch.link("sub/toa", "../a");
    scratch
}

fn rule(text: &str) -> Vec<PermissionRule> {
    vec![PermissionRule::Text(text.to_owned())]
}

async fn refused(session: &AgentSession, tool: &str, args: Value) {
    let result = session.governed_tool(tool, args.clone()).await.unwrap();
    let kind = result.error_kind.map(|kind| kind.tag());
    assert_eq!(
        kind,
        Some("permission_denied"),
        "{tool} {args}: {}",
        result.output
    );
    assert!(!result.output.contains("guarded-text"));
}

// hazards: P1
#[tokio::test]
async fn a_denied_file_is_denied_by_every_name() {
    let scratch = tree();
    for (denied, names) in [
        (
            "read(a)",
            vec![
                "a",
                "./a",
                "alink",
                "self/a",
                "sub/up/a",
                "sub/toa",
                "self/self/alink",
            ],
        ),
        (
            "read(secret/**)",
            vec![
                "secret/key",
                "dlink/key",
                "self/secret/key",
                "sub/up/dlink/key",
            ],
        ),
        ("read(caf\u{e9})", vec!["caf\u{e9}", "caf\\xc3\\xa9"]),
    ] {
        let policy = PermissionPolicy {
            deny: rule(denied),
            ..allow_all()
        };
        let session = open(&scratch, Some(policy)).await;
        for name in names {
            refused(&session, "read", json!({ "file_path": name })).await;
            refused(&session, "read", json!({ "files": [{ "path": name }] })).await;
        }
        let absolute = format!("{}/sub/own", scratch.root());
        for open in ["sub/own", "self/sub/own", &absolute] {
            let result = session
                .governed_tool("read", json!({ "file_path": open }))
                .await
                .unwrap();
            assert!(
                result.output.contains("open-text"),
                "{denied} {open}: {}",
                result.output
            );
        }
    }
    let policy = PermissionPolicy {
        deny: rule("ls(secret)"),
        ..allow_all()
    };
    let session = open(&scratch, Some(policy)).await;
    refused(&session, "ls", json!({ "path": "dlink" })).await;
    let policy = PermissionPolicy {
        deny: rule("search(* secret)"),
        ..allow_all()
    };
    let session = open(&scratch, Some(policy)).await;
    for path in [
        "secret".to_owned(),
        "dlink".to_owned(),
        format!("{}/secret", scratch.root()),
    ] {
        let args = json!({ "mode": "grep", "query": "guarded", "path": path });
        refused(&session, "search", args).await;
    }
}

// hazards: P1
#[tokio::test]
async fn an_allowed_folder_does_not_lead_out_of_itself() {
    let scratch = tree();
    let policy = PermissionPolicy {
        allow: rule("read(sub/**)"),
        ..deny_all()
    };
    let session = open(&scratch, Some(policy)).await;
    for name in ["sub/up/a", "sub/toa", "sub/up/secret/key"] {
        refused(&session, "read", json!({ "file_path": name })).await;
    }
    let own = session
        .governed_tool("read", json!({ "file_path": "sub/own" }))
        .await
        .unwrap();
    assert!(own.output.contains("open-text"), "{}", own.output);
    // An absolute rule goes on allowing what it names.
    let policy = PermissionPolicy {
        allow: rule(&format!("read({}/sub/**)", scratch.root())),
        ..deny_all()
    };
    let session = open(&scratch, Some(policy)).await;
    let absolute = format!("{}/sub/own", scratch.root());
    let own = session
        .governed_tool("read", json!({ "file_path": absolute }))
        .await
        .unwrap();
    assert!(own.output.contains("open-text"), "{}", own.output);
}

// hazards: P7
#[tokio::test]
async fn control_files_are_off_limits_through_links_too() {
    let scratch = tree();
    for policy in [None, Some(allow_all())] {
        let session = open(&scratch, policy).await;
        refused(&session, "read", json!({ "file_path": "glink/config" })).await;
        refused(&session, "read", json!({ "file_path": "self/.git/config" })).await;
        refused(&session, "ls", json!({ "path": "glink" })).await;
        for mode in ["grep", "bm25"] {
            let args = json!({ "mode": mode, "query": "guarded", "path": "glink" });
            refused(&session, "search", args).await;
        }
        let args = json!({ "file_path": "glink/config" });
        let direct = session.tool("read", args).await.unwrap();
        assert!(direct.output.contains("guarded-text"));
    }
}

#[tokio::test]
async fn a_question_about_the_real_file_is_asked() {
    let scratch = tree();
    let policy = PermissionPolicy {
        ask: rule("read(a)"),
        default_decision: PermissionDecision::Allow,
        ..PermissionPolicy::default()
    };
    let session = open(&scratch, Some(policy)).await;
    refused(&session, "read", json!({ "file_path": "alink" })).await;
}

// hazards: F2
#[tokio::test]
async fn a_closed_session_gives_its_handle_on_the_workspace_back() {
    let scratch = tree();
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut held = Vec::new();
    let before = count();
    for _ in 0..200 {
        let session = open(&scratch, None).await;
        session.close().await;
        held.push(session);
    }
    assert!(count() < before + 100, "{} then {}", before, count());
}

// A search shows lines of files: a file that may not be read is not searched, whatever folder the search is of.
// hazards: P1
#[tokio::test]
async fn a_search_shows_nothing_of_a_denied_file() {
    let scratch = tree();
    scratch.write("sub/open", "guarded-text is spoken of here\n");
    let searches = [
        json!({ "mode": "grep", "query": "guarded-text" }),
        json!({ "mode": "grep", "query": "guarded-text", "path": "self" }),
        json!({ "mode": "grep", "query": "guarded-text", "output_mode": "count" }),
        json!({ "mode": "grep", "query": "guarded-text", "output_mode": "files_with_matches" }),
        json!({ "mode": "grep", "query": "guarded-text", "include": "**/*" }),
        json!({ "mode": "bm25", "query": "guarded-text" }),
        json!({ "mode": "bm25", "query": "guarded-text", "path": "sub/up" }),
    ];
    let absolute = format!("read({}/secret/**)", scratch.root());
    for denied in [
        "read(secret/**)",
        "search(secret/**)",
        "*(secret/**)",
        &absolute,
    ] {
        let session = open(
            &scratch,
            Some(PermissionPolicy {
                deny: rule(denied),
                ..allow_all()
            }),
        )
        .await;
        for args in &searches {
            let result = session.governed_tool("search", args.clone()).await.unwrap();
            assert_eq!(result.exit_code, 0, "{denied} {args}: {}", result.output);
            let facts = result.metadata.unwrap();
            let whole = format!("{}{facts}", result.output);
            assert!(!whole.contains("secret"), "{denied} {args}: {whole}");
            assert!(whole.contains("open") && whole.contains('a'), "{whole}");
            let facts = if args["mode"] == "bm25" {
                &facts["scan"]
            } else {
                &facts["search"]
            };
            assert_eq!(facts["withheld_files"], 1, "{denied} {args}");
            assert!(result.output.contains("[1 files were not searched"));
        }
        // The application's own call is not held back.
        let direct = session.tool("search", searches[0].clone()).await.unwrap();
        assert!(direct.output.contains("secret/key"));
    }
    let session = open(&scratch, Some(allow_all())).await;
    let result = session
        .governed_tool("search", searches[0].clone())
        .await
        .unwrap();
    assert!(result.output.contains("secret/key") && !result.output.contains("not searched"));
}

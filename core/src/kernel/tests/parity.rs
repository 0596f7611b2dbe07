//! One verdict for one call, whichever wrapper it comes through. hazards: C7

use super::support::{Probe, allow_all, deny_all, open};
use crate::PermissionPolicy;
use crate::session::SessionOptions;
use crate::tools::ToolOutput;
use a3s_code_contract::{PermissionDecision, PermissionRule};
use serde_json::{Value, json};

fn rules(allow: &[&str], deny: &[&str], ask: &[&str]) -> PermissionPolicy {
    let texts = |list: &[&str]| {
        list.iter()
            .map(|rule| PermissionRule::Text((*rule).to_owned()))
            .collect()
    };
    PermissionPolicy {
        allow: texts(allow),
        deny: texts(deny),
        ask: texts(ask),
        default_decision: PermissionDecision::Deny,
        ..PermissionPolicy::default()
    }
}

// hazards: C7
#[tokio::test]
async fn a_call_gets_the_same_verdict_plain_and_from_inside_a_custom_tool() {
    let calls = [
        ("read", json!({ "file_path": "README.md" })),
        ("read", json!({ "file_path": "./README.md" })),
        ("read", json!({ "file_path": "../README.md" })),
        ("read", json!({ "file_path": ".git/config" })),
        (
            "read",
            json!({ "files": [{ "path": "README.md" }, { "path": "b.md" }] }),
        ),
        ("read", json!({})),
        ("ls", json!({})),
        ("ls", json!({ "path": ".a3s" })),
        ("search", json!({ "mode": "grep", "query": "x" })),
        ("search", json!({ "mode": "glob", "query": "*" })),
        ("probe", json!({})),
        ("no_such_tool", json!({})),
    ];
    let policies = [
        allow_all(),
        deny_all(),
        PermissionPolicy::default(),
        rules(&["read(README.md)", "outer"], &[], &[]),
        rules(&["*"], &["read(README.md)"], &[]),
        rules(&["search(grep*)", "outer"], &[], &["ls"]),
    ];
    for policy in policies {
        for (name, args) in &calls {
            let outer = Probe::new("outer", move |call| async move {
                let name = call.args()["name"].as_str().unwrap().to_owned();
                let inner = call
                    .runtime()
                    .invoke_tool(&name, call.args()["args"].clone());
                let inner = inner.await.unwrap();
                Ok(ToolOutput::success("").with(
                    "seen",
                    json!([inner.exit_code, inner.error_kind, inner.output]),
                ))
            });
            let session = open(
                SessionOptions::new()
                    .with_permission_policy(policy.clone())
                    .with_tool(outer)
                    .with_tool(Probe::saying("probe", "ran")),
            )
            .await;
            let plain = session.governed_tool(name, args.clone()).await.unwrap();
            let wrapped = session
                .tool("outer", json!({ "name": name, "args": args }))
                .await
                .unwrap();
            let expected: Value = json!([plain.exit_code, plain.error_kind, plain.output]);
            assert_eq!(
                wrapped.metadata.unwrap()["seen"],
                expected,
                "{policy:?} {name} {args}"
            );
        }
    }
}

// claims: CTR-05
#[tokio::test]
async fn capabilities_state_seven_things_and_depend_on_the_arguments() {
    let session = open(SessionOptions::new()).await;
    let surface = session.inner().kernel.surface();
    let search = &surface.resolve("search").unwrap().tool;
    let of = |args: Value| serde_json::to_value(search.capabilities(&args)).unwrap();
    let content = of(json!({ "mode": "grep", "query": "x" }));
    let mut named: Vec<&String> = content.as_object().unwrap().keys().collect();
    named.sort();
    assert_eq!(
        named,
        [
            "cancellationSafe",
            "idempotent",
            "maxParallelism",
            "outputKind",
            "readOnly",
            "resumable",
            "supportsPagination"
        ]
    );
    assert_eq!(
        (&content["readOnly"], &content["supportsPagination"]),
        (&json!(true), &json!(false))
    );
    let count = of(json!({ "mode": "grep", "query": "x", "output_mode": "count" }));
    assert_eq!(
        (&count["resumable"], &count["supportsPagination"]),
        (&json!(true), &json!(true))
    );
}

//! Proofs of the evidence room: vectors of the contract, its claims, and random texts.

mod policy;
mod projection;
mod property;
mod record;
mod scan;
mod speed;
mod store;

use super::*;
use a3s_code_contract::ArtifactStoreLimits;
use serde_json::{Map, Value};

/// One accounted result with everything around it.
struct Accounted {
    text: String,
    metadata: Map<String, Value>,
    store: ArtifactStore,
}

impl Accounted {
    fn record(&self) -> ToolResultEvidenceV1 {
        serde_json::from_value(self.metadata[EVIDENCE_KEY].clone()).expect("a record")
    }

    fn loss(&self) -> LossMode {
        self.record().loss_mode
    }

    fn shown_bytes(&self) -> u64 {
        self.metadata[ARTIFACT_KEY]["shown_bytes"]
            .as_u64()
            .expect("a number")
    }

    fn artifact(&self) -> Artifact {
        self.store
            .get(&self.record().content_ref)
            .expect("the artifact is kept")
    }
}

fn pinned(policy: ToolResultTransformPolicyV1) -> PinnedPolicy {
    PinnedPolicy::new(policy).expect("a valid policy")
}

fn conservative() -> PinnedPolicy {
    pinned(ToolResultTransformPolicyV1::conservative())
}

fn efficient() -> PinnedPolicy {
    pinned(ToolResultTransformPolicyV1::context_efficient())
}

fn small(max: u32, head: u32, tail: u32) -> PinnedPolicy {
    pinned(ToolResultTransformPolicyV1 {
        max_output_bytes: max,
        head_bytes: head,
        tail_bytes: tail,
        ..ToolResultTransformPolicyV1::conservative()
    })
}

fn run(text: &str, policy: &PinnedPolicy) -> Accounted {
    run_as("probe", text, policy, ArtifactStoreLimits::default())
}

fn run_as(tool: &str, text: &str, policy: &PinnedPolicy, limits: ArtifactStoreLimits) -> Accounted {
    let store = ArtifactStore::new(limits);
    let mut metadata = Map::new();
    let text = account(tool, text.to_owned(), policy, &store, &mut metadata);
    Accounted {
        text,
        metadata,
        store,
    }
}

/// `L000001` and so on, eight bytes a line.
fn rows(count: usize) -> String {
    (1..=count).map(|n| format!("L{n:06}\n")).collect()
}

/// An array of padded objects, about `pad` bytes each.
fn array(items: usize, pad: usize) -> String {
    let pad = "p".repeat(pad);
    let items: Vec<String> = (0..items)
        .map(|n| format!("{{\"id\":\"item-{n:03}\",\"pad\":\"{pad}\"}}"))
        .collect();
    format!("[{}]", items.join(","))
}

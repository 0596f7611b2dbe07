//! Accounting for a large text (P20), against one SHA-256 pass over the same bytes.

use crate::row::Row;
use crate::sample::{Effort, Result, medians, time};
use a3s_code_core::ArtifactStoreLimits;
use a3s_code_core::evidence::{ArtifactStore, PinnedPolicy, account};
use a3s_code_core::tools::ToolResultTransformPolicyV1;
use serde_json::Map;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::fmt::Write as _;

const SIZE: usize = 10 * 1024 * 1024;

/// Measures and prints.
pub(crate) fn measure(effort: Effort) -> Result<()> {
    let head_and_tail = ToolResultTransformPolicyV1 {
        head_bytes: 64 * 1024,
        tail_bytes: 32 * 1024,
        ..ToolResultTransformPolicyV1::conservative()
    };
    one(
        effort,
        "projection of 10 MiB, head and tail",
        &lines(),
        head_and_tail,
        1.15,
    )?;
    let efficient = ToolResultTransformPolicyV1::context_efficient();
    one(
        effort,
        "projection of 10 MiB, head and tail, lines folded",
        &lines(),
        efficient.clone(),
        1.15,
    )?;
    one(
        effort,
        "projection of a 10 MiB JSON array, sampled",
        &array(),
        efficient,
        1.5,
    )
}

fn one(
    effort: Effort,
    case: &str,
    text: &str,
    policy: ToolResultTransformPolicyV1,
    ratio: f64,
) -> Result<()> {
    let policy = PinnedPolicy::new(policy)?;
    let (floor, value) = medians(
        effort,
        || time(|| Ok::<_, Infallible>(Sha256::digest(text.as_bytes()))),
        || {
            let store = ArtifactStore::new(ArtifactStoreLimits::default());
            let mut metadata = Map::new();
            let text = text.to_owned();
            let elapsed =
                time(|| Ok::<_, Infallible>(account("noop", text, &policy, &store, &mut metadata)));
            if store.is_empty() {
                return Err("nothing was lost, so nothing was projected".into());
            }
            elapsed
        },
    )?;
    Row::at_most("P20", case, "ms", value)
        .floor(floor)
        .target(floor * ratio)
        .print()?;
    Ok(())
}

fn lines() -> String {
    let mut text = String::with_capacity(SIZE + 128);
    let mut at = 0_u32;
    while text.len() < SIZE {
        let _ = writeln!(
            text,
            "{at:08} compiling module {} of the package, no warnings",
            at % 977
        );
        at += 1;
    }
    text
}

fn array() -> String {
    let mut text = String::with_capacity(SIZE + 128);
    text.push('[');
    let mut at = 0_u32;
    while text.len() < SIZE {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}{{\"id\":{at},\"path\":\"src/part_{}.rs\",\"lines\":[1,2,3],\"ok\":true}}",
            at % 977
        );
        at += 1;
    }
    text.push(']');
    text
}

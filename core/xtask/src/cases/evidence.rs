//! The evidence record of a result, computed again from the output beside it.

use super::content::sha256;
use serde_json::{Value, json};

/// Compares the record with `output`; for an unaltered result with the original figures too.
pub(crate) fn check(output: &str, metadata: &Value) -> Result<(), String> {
    let record = metadata
        .get("a3s_tool_result_evidence")
        .ok_or("metadata has no a3s_tool_result_evidence")?;
    let number = |field: &str| {
        record[field]
            .as_i64()
            .ok_or_else(|| format!("evidence.{field} is {}, not an integer", record[field]))
    };
    let projected = i64::try_from(output.len()).map_err(|error| error.to_string())?;
    let original = number("original_bytes")?;
    let digest = format!("sha256:{}", sha256(output.as_bytes()));
    let mut wanted = vec![
        ("projected_bytes", json!(projected)),
        ("projected_digest", json!(digest)),
        ("original_estimated_tokens", json!(tokens(original))),
        ("projected_estimated_tokens", json!(tokens(projected))),
        ("byte_delta", json!(projected - original)),
        (
            "estimated_token_delta",
            json!(tokens(projected) - tokens(original)),
        ),
    ];
    if record["loss_mode"] == "none" {
        wanted.push(("original_bytes", json!(projected)));
        wanted.push(("content_digest", json!(digest)));
        wanted.push(("repeat_key", json!(digest)));
        wanted.push(("content_ref", json!(format!("inline:{digest}"))));
    }
    for (field, value) in wanted {
        if record[field] != value {
            return Err(format!(
                "evidence.{field} is {}, not {value}",
                record[field]
            ));
        }
    }
    Ok(())
}

fn tokens(bytes: i64) -> i64 {
    (bytes + 3) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Value {
        let digest = format!("sha256:{}", sha256(b"hello\n"));
        json!({"a3s_tool_result_evidence": {
            "original_bytes": 6, "projected_bytes": 6, "original_estimated_tokens": 2, "projected_estimated_tokens": 2,
            "content_digest": digest, "projected_digest": digest, "repeat_key": digest,
            "content_ref": format!("inline:{digest}"), "loss_mode": "none", "byte_delta": 0, "estimated_token_delta": 0,
        }})
    }

    #[test]
    fn a_true_record_holds_and_each_false_figure_is_found() {
        assert_eq!(check("hello\n", &record()), Ok(()));
        for field in [
            "original_bytes",
            "projected_bytes",
            "original_estimated_tokens",
            "content_digest",
            "projected_digest",
            "repeat_key",
            "content_ref",
            "byte_delta",
            "estimated_token_delta",
        ] {
            let mut false_record = record();
            false_record["a3s_tool_result_evidence"][field] = json!(7);
            assert!(check("hello\n", &false_record).is_err(), "{field}");
        }
        assert!(check("hello", &record()).is_err());
        assert!(check("hello\n", &json!({})).is_err());
    }
}

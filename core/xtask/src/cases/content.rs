//! Contents as cases write them, expanded to bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Bytes of `{"text"}`, `{"base64"}`, `{"repeat"}`, `{"numbered"}` or `{"concat"}`.
pub(crate) fn expand(content: &Value) -> Result<Vec<u8>, String> {
    if let Some(text) = content.get("text") {
        return text
            .as_str()
            .map(|text| text.as_bytes().to_vec())
            .ok_or_else(|| wrong(content));
    }
    if let Some(text) = content.get("base64") {
        let text = text.as_str().ok_or_else(|| wrong(content))?;
        return STANDARD
            .decode(text)
            .map_err(|error| format!("base64: {error}"));
    }
    if let Some(pair) = content.get("repeat") {
        let text = pair[0].as_str().ok_or_else(|| wrong(content))?;
        let times = pair[1]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| wrong(content))?;
        return Ok(text.as_bytes().repeat(times));
    }
    if let Some(range) = content.get("numbered") {
        return numbered(range).map(|lines| lines.concat().into_bytes());
    }
    if let Some(parts) = content.get("concat").and_then(Value::as_array) {
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend(expand(part)?);
        }
        return Ok(bytes);
    }
    Err(wrong(content))
}

/// The texts of `[format, first, last]`, both ends included.
pub(crate) fn numbered(range: &Value) -> Result<Vec<String>, String> {
    let (Some(format), Some(first), Some(last)) =
        (range[0].as_str(), range[1].as_i64(), range[2].as_i64())
    else {
        return Err(wrong(range));
    };
    (first..=last)
        .map(|number| format_number(format, number))
        .collect()
}

/// `%d`, `%5d` or `%05d` replaced by the number, `%%` by a percent sign.
fn format_number(format: &str, number: i64) -> Result<String, String> {
    let mut out = String::with_capacity(format.len() + 8);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let end = rest
            .find('d')
            .ok_or_else(|| format!("format {format:?} has no %d"))?;
        let width = &rest[..end];
        let digits: usize = if width.is_empty() {
            0
        } else {
            width.parse().map_err(|_| format!("format {format:?}"))?
        };
        if width.starts_with('0') {
            out.push_str(&format!("{number:0digits$}"));
        } else {
            out.push_str(&format!("{number:digits$}"));
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Lower-case hexadecimal SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Bytes of standard base64.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| error.to_string())
}

fn wrong(content: &Value) -> String {
    format!("not a content: {content}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_of_content_expands() {
        let content = json!({"concat": [{"text": "é"}, {"repeat": ["ab", 2]}, {"numbered": ["%03d;", 8, 10]}, {"base64": "/wA="}]});
        let mut wanted = "éabab008;009;010;".as_bytes().to_vec();
        wanted.extend([0xff, 0]);
        assert_eq!(expand(&content).unwrap(), wanted);
        assert!(expand(&json!({"txt": "a"})).is_err());
    }

    #[test]
    fn numbers_follow_their_format() {
        assert_eq!(format_number("a%05db%%", 42).unwrap(), "a00042b%");
        assert_eq!(format_number("%3d|%d", 7).unwrap(), "  7|7");
        assert_eq!(format_number("none", 7).unwrap(), "none");
    }

    #[test]
    fn digests_are_lower_case_hexadecimal() {
        assert_eq!(
            sha256(b"hello\n"),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
        );
    }
}

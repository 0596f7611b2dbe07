//! The list of claims, as tests/spec/claims.md has it.

use crate::languages::Language;
use regex::Regex;

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// `EVID-03`.
    pub(super) id: String,
    /// Languages that each need a proof.
    pub(super) languages: Vec<Language>,
}

/// Reads the list; dropped claims are left out.
pub(super) fn parse(text: &str) -> Result<Vec<Claim>, String> {
    let line = Regex::new(r"^- ([A-Z]+-\d+) \[([a-z, ]+)\]").map_err(|error| error.to_string())?;
    let mut claims: Vec<Claim> = Vec::new();
    for captures in text.lines().filter_map(|text| line.captures(text)) {
        let id = captures[1].to_owned();
        if claims.iter().any(|claim| claim.id == id) {
            return Err(format!("{id} stands there twice"));
        }
        let languages = match &captures[2] {
            "all" => Language::ALL.to_vec(),
            "core" => vec![Language::Rust],
            list => list
                .split(',')
                .map(|name| {
                    Language::parse(name.trim())
                        .ok_or_else(|| format!("{id}: no such language: {name}"))
                })
                .collect::<Result<_, _>>()?,
        };
        claims.push(Claim { id, languages });
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_languages_and_dropped_claims_are_left_out() {
        let text = "- `ID [langs] (snippet L) text`\n- SURF-01 [all] `x`\n- WEB-14 dropped (OQ-19).\n- RES-02 [node, python] (snippet node) y\n- AST-1 [core] z\n- OQ-1 **Two**";
        let claims = parse(text).unwrap();
        assert_eq!(
            claims
                .iter()
                .map(|claim| claim.id.as_str())
                .collect::<Vec<_>>(),
            ["SURF-01", "RES-02", "AST-1"]
        );
        assert_eq!(claims[0].languages.len(), 4);
        assert_eq!(claims[1].languages, [Language::Node, Language::Python]);
        assert!(parse("- A-1 [ruby] x").is_err());
        assert!(parse("- A-1 [all] x\n- A-1 [all] x").is_err());
    }
}

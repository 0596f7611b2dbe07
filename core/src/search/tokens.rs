//! Words of code and prose: what lexical ranking compares.
//!
//! An identifier counts as a whole and by its parts: `_` segments, camelCase and acronym humps, runs of digits.
//! Chinese, Japanese and Korean text counts by single characters and by adjacent pairs, since it has no spaces.

/// Calls `take` with every token of a text, lower-cased.
pub(crate) fn for_each(text: &str, mut take: impl FnMut(&str)) {
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if word.is_empty() {
            continue;
        }
        for run in runs(word) {
            if run.chars().next().is_some_and(is_cjk) {
                ideographs(run, &mut take);
            } else {
                identifier(run, &mut take);
            }
        }
    }
}

/// The distinct tokens of a query, in the order they come.
pub(crate) fn of_query(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for_each(query, |token| {
        if !terms.iter().any(|term| term == token) {
            terms.push(token.to_owned());
        }
    });
    terms
}

fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x1100..=0x11ff | 0x3040..=0x30ff | 0x3130..=0x318f | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// Parts of a word that are all ideographs or have none.
fn runs(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = is_cjk(rest.chars().next()?);
        let end = rest
            .char_indices()
            .find(|(_, c)| is_cjk(*c) != first)
            .map_or(rest.len(), |(at, _)| at);
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

fn ideographs(run: &str, take: &mut impl FnMut(&str)) {
    let mut before: Option<usize> = None;
    for (at, c) in run.char_indices() {
        let end = at + c.len_utf8();
        take(&run[at..end]);
        if let Some(before) = before {
            take(&run[before..end]);
        }
        before = Some(at);
    }
}

fn identifier(word: &str, take: &mut impl FnMut(&str)) {
    let whole = word.trim_matches('_');
    if whole.is_empty() {
        return;
    }
    take(&whole.to_lowercase());
    let segments: Vec<&str> = whole.split('_').filter(|part| !part.is_empty()).collect();
    for segment in &segments {
        let humps = humps(segment);
        if segments.len() > 1 {
            take(&segment.to_lowercase());
        }
        if humps.len() > 1 {
            for hump in humps {
                take(&hump.to_lowercase());
            }
        }
    }
}

/// `HTTPServer2` as `HTTP`, `Server`, `2`.
fn humps(segment: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = segment.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..chars.len() {
        let (before, here) = (chars[at - 1].1, chars[at].1);
        let next_is_lower = chars.get(at + 1).is_some_and(|(_, c)| c.is_lowercase());
        let boundary = before.is_numeric() != here.is_numeric()
            || (before.is_lowercase() && here.is_uppercase())
            || (before.is_uppercase() && here.is_uppercase() && next_is_lower);
        if boundary {
            parts.push(&segment[start..chars[at].0]);
            start = chars[at].0;
        }
    }
    parts.push(&segment[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each(text, |token| found.push(token.to_owned()));
        found
    }

    // claims: SRCH-24, SRCH-25
    #[test]
    fn identifiers_and_unspaced_text_are_split() {
        let code = tokens("getUserProfile user_profile HTTPServer2");
        for token in [
            "getuserprofile",
            "get",
            "user",
            "profile",
            "user_profile",
            "httpserver2",
            "http",
            "server",
            "2",
        ] {
            assert!(code.iter().any(|found| found == token), "{token}: {code:?}");
        }
        let text = tokens("用户检索");
        assert_eq!(text, ["用", "户", "用户", "检", "户检", "索", "检索"]);
        assert!(tokens("設定ファイルを検索します").contains(&"検索".to_owned()));
        assert_eq!(tokens("(*[ ])"), Vec::<String>::new());
        assert_eq!(of_query("policy Policy POLICY"), ["policy"]);
    }
}

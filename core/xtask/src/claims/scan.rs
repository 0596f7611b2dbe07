//! Which test names which claims, read from the sources.
//!
//! A comment that says `claims`, a colon and ids belongs to the test that directly follows it (only comments,
//! attributes, decorators and blank lines between), else to the one that contains it. A test whose name begins like
//! `evid_03_` names that claim too. Sources are read by lines and indentation; that is enough for formatted code.

use crate::languages::Language;
use regex::Regex;
use std::collections::BTreeSet;

/// A test that names claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The ids.
    pub(super) claims: Vec<String>,
    /// Line of the comment or test, from 1.
    pub(super) line: usize,
    /// Function or title; none when the comment belongs to no test.
    pub(super) test: Option<String>,
    /// A group whose tests all name the claims.
    pub(super) group: bool,
}

/// A function, test or group of tests of a source file.
#[derive(Debug)]
struct Definition {
    start: usize,
    end: usize,
    name: String,
    group: bool,
}

/// Reads sources.
#[derive(Debug)]
pub(super) struct Scanner {
    comment: Regex,
    id: Regex,
    named: Regex,
    rust: Regex,
    python: Regex,
    go: Regex,
    node: Regex,
    node_table: Regex,
    node_title: Regex,
    prefixes: BTreeSet<String>,
}

/// The text of a line of documentation, without its mark.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line
        .strip_prefix("//!")
        .or_else(|| line.strip_prefix("///"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

/// The line, from 1, that opens the example in the documentation which holds this line.
fn example(lines: &[&str], at: usize) -> Option<usize> {
    documentation(lines[at])?;
    let mut opening = None;
    let start = (0..at)
        .rev()
        .take_while(|number| documentation(lines[*number]).is_some())
        .last()?;
    for (number, line) in lines.iter().enumerate().take(at).skip(start) {
        if documentation(line).is_some_and(|text| text.starts_with("```")) {
            opening = match opening {
                None => Some(number + 1),
                Some(_) => None,
            };
        }
    }
    opening
}

impl Scanner {
    /// `prefixes` are those of claim ids, `EVID`.
    pub(super) fn new(prefixes: BTreeSet<String>) -> Result<Self, String> {
        let regex = |pattern: &str| Regex::new(pattern).map_err(|error| error.to_string());
        Ok(Self {
            comment: regex(r"^\s*(?://[/!]?|#|\*)\s*claims:\s*(.*)$")?,
            id: regex(r"^[A-Z]+-\d+$")?,
            named: regex(r"^([A-Za-z]+)_(\d{2,})(?:_|\b)")?,
            rust: regex(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:async )?fn (\w+)")?,
            python: regex(r"^\s*(?:async )?(def|class) (\w+)")?,
            go: regex(r"^func (Test\w+|Example\w*|Fuzz\w+)\(")?,
            node: regex(
                r#"^\s*(it|test|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*(?:"([^"]*)"|'([^']*)'|`([^`]*)`)"#,
            )?,
            node_table: regex(r"^\s*(it|test|describe)(?:\.\w+)*(?:\.each)?[(`]")?,
            node_title: regex(
                r#"^\s*(?:[\])}]+\s*(?:as const\s*)?\)?\s*\(\s*)?(?:"([^"]*)"|'([^']*)'|`([^`]*)`)"#,
            )?,
            prefixes,
        })
    }

    /// Every mention in a source file; an error names a comment that cannot be read.
    pub(super) fn scan(&self, language: Language, text: &str) -> Result<Vec<Mention>, String> {
        let lines: Vec<&str> = text.lines().collect();
        let definitions = self.definitions(language, &lines);
        let mut found = Vec::new();
        for definition in &definitions {
            let claims = self.claims_of_name(&definition.name);
            if !claims.is_empty() {
                let test = Some(definition.name.clone());
                found.push(Mention {
                    claims,
                    line: definition.start + 1,
                    test,
                    group: definition.group,
                });
            }
        }
        let mut number = 0;
        while number < lines.len() {
            let first = number;
            number += 1;
            let in_example = (language == Language::Rust)
                .then(|| example(&lines, first))
                .flatten();
            let line = match in_example {
                Some(_) => documentation(lines[first]).unwrap_or_default(),
                None => lines[first],
            };
            let Some(captures) = self.comment.captures(line) else {
                continue;
            };
            let mut list = captures[1].trim().to_owned();
            while list.ends_with(',') && number < lines.len() {
                list.push_str(
                    lines[number]
                        .trim()
                        .trim_start_matches(['/', '!', '#', '*'])
                        .trim(),
                );
                number += 1;
            }
            let claims = self
                .ids(&list)
                .map_err(|error| format!("{}: {error}", first + 1))?;
            if let Some(opening) = in_example {
                found.push(Mention {
                    claims,
                    line: first + 1,
                    test: Some(format!("doc line {opening}")),
                    group: false,
                });
                continue;
            }
            let owner =
                following(&definitions, &lines, number).or_else(|| containing(&definitions, first));
            found.push(Mention {
                claims,
                line: first + 1,
                test: owner.map(|owner| owner.name.clone()),
                group: owner.is_some_and(|owner| owner.group),
            });
        }
        Ok(found)
    }

    /// Ids of a list; a remark in parentheses may stand behind each.
    fn ids(&self, list: &str) -> Result<Vec<String>, String> {
        list.trim_end_matches('.')
            .split(',')
            .map(|part| {
                let part = part.trim();
                let id = match part.split_once(" (") {
                    Some((id, remark)) if remark.ends_with(')') => id,
                    _ => part,
                };
                if self.id.is_match(id) {
                    Ok(id.to_owned())
                } else {
                    Err(format!("not a claim id: {part:?}"))
                }
            })
            .collect()
    }

    fn claims_of_name(&self, name: &str) -> Vec<String> {
        let mut rest = ["test_", "Test_", "Test"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name);
        let mut claims = Vec::new();
        while let Some(captures) = self.named.captures(rest) {
            let prefix = captures[1].to_uppercase();
            if !self.prefixes.contains(&prefix) {
                break;
            }
            claims.push(format!("{prefix}-{}", &captures[2]));
            rest = &rest[captures[0].len()..];
        }
        claims
    }

    fn definitions(&self, language: Language, lines: &[&str]) -> Vec<Definition> {
        let mut found = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let named = match language {
                Language::Rust => self
                    .rust
                    .captures(line)
                    .map(|captures| (captures[1].to_owned(), false)),
                Language::Python => self
                    .python
                    .captures(line)
                    .map(|captures| (captures[2].to_owned(), &captures[1] == "class")),
                Language::Go => self
                    .go
                    .captures(line)
                    .map(|captures| (captures[1].to_owned(), false)),
                Language::Node => self.node_definition(lines, number),
            };
            if let Some((name, group)) = named {
                let end = end_of(language, lines, number);
                found.push(Definition {
                    start: number,
                    end,
                    name,
                    group,
                });
            }
        }
        found
    }

    /// A test or group with its title, which may stand on a later line or after a table.
    fn node_definition(&self, lines: &[&str], number: usize) -> Option<(String, bool)> {
        let title = |captures: &regex::Captures<'_>, first: usize| {
            (first..first + 3)
                .find_map(|group| captures.get(group))
                .map(|text| text.as_str().to_owned())
        };
        if let Some(captures) = self.node.captures(lines[number]) {
            return Some((title(&captures, 2)?, &captures[1] == "describe"));
        }
        let captures = self.node_table.captures(lines[number])?;
        let group = &captures[1] == "describe";
        let table = lines[number].contains(".each");
        let indent = indentation(lines[number]);
        for (offset, line) in lines[number + 1..]
            .iter()
            .take(if table { 200 } else { 2 })
            .enumerate()
        {
            if table && (indentation(line) != indent || line.trim().is_empty()) {
                continue;
            }
            if let Some(captures) = self.node_title.captures(line) {
                return Some((title(&captures, 1)?, group));
            }
            // `])(` with the title on the next line.
            if table && let Some(next) = lines.get(number + offset + 2) {
                return Some((title(&self.node_title.captures(next)?, 1)?, group));
            }
        }
        None
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Last line of what starts at `start`.
fn end_of(language: Language, lines: &[&str], start: usize) -> usize {
    let indent = indentation(lines[start]);
    if language == Language::Python {
        let body = lines[start + 1..].iter().position(|line| {
            let trimmed = line.trim_start();
            !trimmed.is_empty() && indentation(line) <= indent && !trimmed.starts_with(')')
        });
        return body.map_or(lines.len(), |length| start + length);
    }
    let trimmed = lines[start].trim_end();
    if trimmed.ends_with('}') || trimmed.ends_with("});") || trimmed.ends_with(';') {
        return start;
    }
    let body = lines[start + 1..].iter().position(|line| {
        let trimmed = line.trim_start();
        indentation(line) == indent
            && (trimmed.starts_with('}') || trimmed == ");" || trimmed == ")")
    });
    body.map_or(lines.len(), |length| start + 1 + length)
}

fn containing(definitions: &[Definition], line: usize) -> Option<&Definition> {
    definitions
        .iter()
        .filter(|one| one.start <= line && line <= one.end)
        .max_by_key(|one| one.start)
}

/// The definition that comes next, when nothing but comments, attributes, decorators and blanks is between.
fn following<'a>(
    definitions: &'a [Definition],
    lines: &[&str],
    from: usize,
) -> Option<&'a Definition> {
    let mut open = 0_i64;
    for (number, line) in lines.iter().enumerate().skip(from) {
        if open == 0
            && let Some(found) = definitions.iter().find(|one| one.start == number)
        {
            return Some(found);
        }
        let trimmed = line.trim_start();
        let skipped = open > 0
            || trimmed.is_empty()
            || ["//", "#", "@", "*", "/*"]
                .iter()
                .any(|prefix| trimmed.starts_with(prefix));
        if !skipped {
            return None;
        }
        if open > 0 || trimmed.starts_with("#[") || trimmed.starts_with('@') {
            for byte in trimmed.bytes() {
                match byte {
                    b'(' | b'[' | b'{' => open += 1,
                    b')' | b']' | b'}' => open -= 1,
                    _ => {}
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(language: Language, text: &str) -> Vec<(String, Option<String>)> {
        let scanner = Scanner::new(["EVID", "RES"].map(str::to_owned).into()).unwrap();
        // The word is put together here, so that reading this file finds no comment in it.
        let text = text.replace("CLAIMS", &format!("cla{}:", "ims"));
        scanner
            .scan(language, &text)
            .unwrap()
            .into_iter()
            .map(|mention| (mention.claims.join(" "), mention.test))
            .collect()
    }

    fn owned(claims: &str, test: &str) -> (String, Option<String>) {
        (claims.to_owned(), Some(test.to_owned()))
    }

    #[test]
    fn a_rust_comment_belongs_to_the_next_or_the_containing_test() {
        let text = "mod tests {\n    // CLAIMS EVID-01, EVID-02,\n    // RES-01\n    #[tokio::test(\n        flavor = \"x\",\n    )]\n    async fn above() {\n        work();\n    }\n\n    #[test]\n    fn within() {\n        let x = 1;\n        // CLAIMS RES-03 (snippet rust)\n        work();\n    }\n\n    fn res_02_evid_04_by_name() {}\n    // CLAIMS RES-04\n    const X: u8 = 0;\n}\n";
        assert_eq!(
            scan(Language::Rust, text),
            [
                owned("RES-02 EVID-04", "res_02_evid_04_by_name"),
                owned("EVID-01 EVID-02 RES-01", "above"),
                owned("RES-03", "within"),
                ("RES-04".to_owned(), None),
            ]
        );
    }

    #[test]
    fn python_decorators_may_stand_between() {
        let text = "# CLAIMS EVID-01\n@pytest.mark.parametrize(\n    'x',\n    [(1, 2)],\n)\nasync def test_one(x):\n    pass\n\n\nclass TestGroup:\n    def test_two(self):\n        # CLAIMS RES-01\n        assert True\n\ndef test_evid_03_named():\n    pass\n";
        assert_eq!(
            scan(Language::Python, text),
            [
                owned("EVID-03", "test_evid_03_named"),
                owned("EVID-01", "test_one"),
                owned("RES-01", "test_two")
            ]
        );
    }

    #[test]
    fn node_titles_are_found_on_the_same_or_a_later_line() {
        let text = "// CLAIMS EVID-01\ndescribe('group', () => {\n  // CLAIMS RES-01\n  it(\"one's\", async () => {\n    x();\n  });\n\n  // CLAIMS RES-02\n  it.each([\n    ['a'],\n  ])('table %s', () => {\n  });\n  test(\n    'later',\n    async () => {\n      // CLAIMS RES-03\n    },\n  );\n  test('evid_04 named', () => {});\n});\n";
        assert_eq!(
            scan(Language::Node, text),
            [
                owned("EVID-04", "evid_04 named"),
                owned("EVID-01", "group"),
                owned("RES-01", "one's"),
                owned("RES-02", "table %s"),
                owned("RES-03", "later"),
            ]
        );
    }

    #[test]
    fn go_tests_are_functions() {
        let text = "// CLAIMS EVID-01\nfunc TestOne(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {\n\t\t// CLAIMS RES-01\n\t})\n}\n";
        assert_eq!(
            scan(Language::Go, text),
            [owned("EVID-01", "TestOne"), owned("RES-01", "TestOne")]
        );
    }

    #[test]
    fn a_comment_that_names_no_id_is_an_error() {
        let scanner = Scanner::new(BTreeSet::new()).unwrap();
        assert!(
            scanner
                .scan(
                    Language::Rust,
                    &format!("// cla{}: the evidence\nfn x() {{}}", "ims")
                )
                .is_err()
        );
    }
}

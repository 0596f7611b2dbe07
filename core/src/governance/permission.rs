//! Rules for governed calls: deny first, then allow, then ask, then the default.
//!
//! A rule is `Tool` or `Tool(pattern)`. Tool names are compared without case, `*` and `?` are allowed in
//! them, `functions.` in front is left out, and `mcp__server` stands for every tool of that server. A
//! pattern that ends in `:*` covers texts that begin with what stands before it, at a boundary; every other
//! pattern is a glob. A call is allowed only when each of its texts is; one match is enough to refuse or ask.
//!
//! A command line is taken apart first. A rule that allows covers one plain command word by word, and a
//! line only when each of its commands is covered; a rule that refuses or asks fires on every command that
//! can be seen in the line. Rules of `bash` that refuse or ask hold for every tool that runs a command line.
//! A path is matched as it is given and in its normal form: both must be allowed, one is enough to refuse.

use super::command::{CommandLine, MAX_NESTING, Part};
use super::pattern::normalized;
use super::programs::{Wrapped, words_to_spell, wrapped};
use super::rule::Rule;
use super::sightings::Sightings;
use crate::tools::PathUse;
use a3s_code_contract::{PermissionDecision, PermissionPolicy, PermissionRule};
use async_trait::async_trait;

/// Most rules of one list.
const MAX_RULES: usize = 4096;
/// Built-in tools that reach out of the workspace even where they change nothing.
const OUTSIDE: &[&str] = &["web_fetch", "web_search", "download"];

/// A call, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct PermissionQuery<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Texts that stand for the call; each must be allowed.
    pub subjects: &'a [String],
    /// The command line it would run.
    pub command_line: Option<&'a str>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether all its paths stay in the workspace.
    pub inside_workspace: bool,
    /// The paths it would touch.
    pub paths: &'a [PathUse],
    /// Whether the tool itself wants it asked about; raises allow to ask and never lowers.
    pub requires_confirmation: bool,
}

/// What was decided and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionVerdict {
    /// The decision.
    pub decision: PermissionDecision,
    /// Why, for the model and the person who is asked.
    pub reason: String,
    /// The rule that decided, as it was written.
    pub rule: Option<String>,
}

/// A rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`permissionPolicy.{list}[{index}]` is `{rule}`: {message}")]
pub struct RuleError {
    /// `deny`, `allow` or `ask`.
    pub list: &'static str,
    /// Its place in the list.
    pub index: usize,
    /// The rule, shortened.
    pub rule: String,
    /// What is wrong with it.
    pub message: String,
}

/// Decides about governed calls.
#[async_trait]
pub trait PermissionChecker: Send + Sync {
    /// Decides about one call.
    async fn check(&self, query: &PermissionQuery<'_>) -> PermissionVerdict;

    /// Whether the content of some files is refused by their path, so that a search asks about each file.
    fn refuses_files(&self) -> bool {
        false
    }

    /// Whether the content of a file is refused to a search that was allowed; `ways` are the ways to spell its path.
    /// Must answer at once.
    fn refuses_content(&self, ways: &[&str]) -> bool {
        let _ = ways;
        false
    }
}

/// The tools whose rules with a pattern say which files may not be read.
const READING: [&str; 2] = ["read", "search"];

/// Compiled rules.
#[derive(Debug)]
pub struct PermissionRules {
    posture: Posture,
    deny: Vec<Rule>,
    allow: Vec<Rule>,
    ask: Vec<Rule>,
}

/// What holds when no rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posture {
    /// A policy that is switched off.
    Everything,
    /// A policy's own default.
    Policy(PermissionDecision),
    /// No policy.
    Reading,
}

#[async_trait]
impl PermissionChecker for PermissionRules {
    async fn check(&self, query: &PermissionQuery<'_>) -> PermissionVerdict {
        self.decide(query)
    }

    fn refuses_files(&self) -> bool {
        self.of_files().next().is_some()
    }

    fn refuses_content(&self, ways: &[&str]) -> bool {
        let paths: Vec<PathUse> = ways
            .iter()
            .map(|path| PathUse {
                path: (*path).to_owned(),
                write: false,
            })
            .collect();
        let subjects: Vec<String> = ways.iter().map(|path| (*path).to_owned()).collect();
        READING.iter().any(|tool| {
            let query = PermissionQuery {
                tool,
                subjects: &subjects,
                command_line: None,
                read_only: true,
                inside_workspace: true,
                paths: &paths,
                requires_confirmation: false,
            };
            let call = Call::new(&query);
            self.of_files().any(|rule| call.fires(rule))
        })
    }
}

impl PermissionRules {
    /// The rules that refuse the reading of some files and not of all.
    fn of_files(&self) -> impl Iterator<Item = &Rule> {
        let counts = matches!(self.posture, Posture::Policy(_));
        self.deny.iter().filter(move |rule| {
            counts && !rule.is_bare() && READING.iter().any(|tool| rule.names(tool))
        })
    }

    /// Compiles a policy; at most 4,096 rules a list, each at most 4 KiB.
    ///
    /// # Errors
    /// The first rule that cannot be used, by its list and place.
    pub fn compile(policy: &PermissionPolicy) -> Result<Self, RuleError> {
        Ok(Self {
            posture: if policy.enabled == Some(false) {
                Posture::Everything
            } else {
                Posture::Policy(policy.default_decision)
            },
            deny: compile_list("deny", &policy.deny)?,
            allow: compile_list("allow", &policy.allow)?,
            ask: compile_list("ask", &policy.ask)?,
        })
    }

    /// The rules that hold without a policy: what changes nothing and stays in the workspace is allowed,
    /// everything else is asked about.
    #[must_use]
    pub fn default_posture() -> Self {
        Self {
            posture: Posture::Reading,
            deny: Vec::new(),
            allow: Vec::new(),
            ask: Vec::new(),
        }
    }

    /// Decides about one call.
    #[must_use]
    pub fn decide(&self, query: &PermissionQuery<'_>) -> PermissionVerdict {
        let verdict = self.decide_by_rules(query);
        if verdict.decision == PermissionDecision::Allow && query.requires_confirmation {
            return PermissionVerdict {
                decision: PermissionDecision::Ask,
                reason: format!("`{}` asks for confirmation of these arguments", query.tool),
                rule: verdict.rule,
            };
        }
        verdict
    }

    /// Whether a rule allows every call of a tool, and none refuses any.
    pub(super) fn allows_tool(&self, tool: &str) -> bool {
        !self.deny.iter().any(|rule| rule.names(tool))
            && self.allow.iter().any(|rule| rule.covers_tool(tool))
    }

    fn decide_by_rules(&self, query: &PermissionQuery<'_>) -> PermissionVerdict {
        match self.posture {
            Posture::Everything => {
                return verdict(
                    PermissionDecision::Allow,
                    "`permissionPolicy.enabled` is false".to_owned(),
                );
            }
            Posture::Reading => return reading(query),
            Posture::Policy(_) => {}
        }
        let call = Call::new(query);
        if let Some(rule) = self.deny.iter().find(|rule| call.fires(rule)) {
            return by_rule(PermissionDecision::Deny, rule, "refuses");
        }
        let (doubt, allowed) = self.allowed(&call);
        if let Some(rule) = allowed {
            if let Some(asked) = self.unless_hidden(&call) {
                return asked;
            }
            return by_rule(PermissionDecision::Allow, rule, "allows");
        }
        if let Some(rule) = self.ask.iter().find(|rule| call.fires(rule)) {
            return by_rule(PermissionDecision::Ask, rule, "asks about");
        }
        let because = doubt.map_or_else(String::new, |doubt| {
            format!(" (no rule can allow the command line as it is: {doubt})")
        });
        match self.posture {
            Posture::Policy(PermissionDecision::Allow) => {
                self.unless_hidden(&call).unwrap_or_else(|| {
                    verdict(
                        PermissionDecision::Allow,
                        "`permissionPolicy.defaultDecision` is allow".to_owned(),
                    )
                })
            }
            Posture::Policy(PermissionDecision::Deny) => verdict(
                PermissionDecision::Deny,
                format!(
                    "no rule of `permissionPolicy.allow` covers it{because} and `permissionPolicy.defaultDecision` is deny"
                ),
            ),
            _ => verdict(
                PermissionDecision::Ask,
                format!(
                    "no rule of `permissionPolicy.allow` covers it{because}; `confirmationPolicy` decides who can be asked"
                ),
            ),
        }
    }

    /// The rule that allows a call, and what about its command line keeps rules from allowing it.
    fn allowed<'r>(&'r self, call: &Call<'_>) -> (Option<&'static str>, Option<&'r Rule>) {
        let of_tool: Vec<&Rule> = self
            .allow
            .iter()
            .filter(|rule| rule.names(call.query.tool))
            .collect();
        if let Some(rule) = of_tool.iter().find(|rule| rule.is_bare()) {
            return (None, Some(rule));
        }
        if let Some(line) = &call.line {
            if let Some(doubt) = line.doubt {
                return (Some(doubt), None);
            }
            return match covered(&line.parts, &of_tool, 0) {
                Covered::By(rule) => (None, Some(rule)),
                Covered::Not(doubt) => (doubt, None),
            };
        }
        let mut deciding = None;
        for texts in &call.texts {
            let rule = of_tool.iter().find(|rule| {
                texts
                    .iter()
                    .all(|text| rule.covers_text(text, &call.path_texts))
            });
            match rule {
                Some(rule) => deciding = Some(*rule),
                None => return (None, None),
            }
        }
        (None, deciding)
    }

    /// What would be allowed is asked about where rules for command lines could not be tried on all of it.
    fn unless_hidden(&self, call: &Call<'_>) -> Option<PermissionVerdict> {
        let doubt = call.line.as_ref().filter(|line| line.obscured())?.doubt?;
        let tried = self
            .deny
            .iter()
            .chain(&self.ask)
            .find(|rule| call.concerns(rule) && !rule.is_bare())?;
        Some(PermissionVerdict {
            decision: PermissionDecision::Ask,
            reason: format!(
                "the rule `{}` cannot be tried on the whole command line: {doubt}",
                tried.text()
            ),
            rule: Some(tried.text().to_owned()),
        })
    }
}

fn compile_list(list: &'static str, rules: &[PermissionRule]) -> Result<Vec<Rule>, RuleError> {
    let refused = |index: usize, rule: &str, message: String| RuleError {
        list,
        index,
        rule: rule.chars().take(100).collect(),
        message,
    };
    if let Some(rule) = rules.get(MAX_RULES) {
        return Err(refused(
            MAX_RULES,
            rule.text(),
            format!("a list holds at most {MAX_RULES} rules"),
        ));
    }
    rules
        .iter()
        .enumerate()
        .map(|(index, rule)| {
            Rule::parse(rule.text()).map_err(|message| refused(index, rule.text(), message))
        })
        .collect()
}

fn reading(query: &PermissionQuery<'_>) -> PermissionVerdict {
    let stays = query.inside_workspace
        && query.command_line.is_none()
        && !OUTSIDE.contains(&query.tool)
        && !query.tool.starts_with("mcp__");
    if query.read_only && stays {
        return verdict(
            PermissionDecision::Allow,
            "it reads inside the workspace".to_owned(),
        );
    }
    let what = if query.read_only {
        "it reaches out of the workspace"
    } else {
        "it may change something"
    };
    verdict(
        PermissionDecision::Ask,
        format!(
            "{what} and no `permissionPolicy` allows it: allow `{}` there, or set `confirmationPolicy` and answer",
            query.tool
        ),
    )
}

fn verdict(decision: PermissionDecision, reason: String) -> PermissionVerdict {
    PermissionVerdict {
        decision,
        reason,
        rule: None,
    }
}

fn by_rule(decision: PermissionDecision, rule: &Rule, does: &str) -> PermissionVerdict {
    PermissionVerdict {
        decision,
        reason: format!("the rule `{}` of `permissionPolicy` {does} it", rule.text()),
        rule: Some(rule.text().to_owned()),
    }
}

/// A call prepared for matching.
struct Call<'a> {
    query: &'a PermissionQuery<'a>,
    /// For each subject the ways to write it.
    texts: Vec<Vec<String>>,
    /// The paths as given and normal.
    path_texts: Vec<String>,
    line: Option<CommandLine>,
    sightings: Option<Sightings>,
}

impl<'a> Call<'a> {
    fn new(query: &'a PermissionQuery<'a>) -> Self {
        let mut path_texts = Vec::new();
        for used in query.paths {
            path_texts.push(used.path.clone());
            path_texts.push(normalized(&used.path));
        }
        let none = [String::new()];
        let subjects = if query.subjects.is_empty() {
            none.as_slice()
        } else {
            query.subjects
        };
        let texts = subjects
            .iter()
            .map(|subject| {
                let mut ways = vec![subject.clone()];
                // A subject may be a path, or end in one, as for a search.
                ways.extend(query.paths.iter().filter_map(|used| {
                    let head = subject.strip_suffix(used.path.as_str())?;
                    let apart = head.is_empty() || head.ends_with(' ');
                    apart.then(|| format!("{head}{}", normalized(&used.path)))
                }));
                ways
            })
            .collect();
        Self {
            query,
            texts,
            path_texts,
            line: query.command_line.map(CommandLine::read),
            sightings: query.command_line.map(Sightings::of),
        }
    }

    /// Whether a rule that refuses or asks is about this tool.
    fn concerns(&self, rule: &Rule) -> bool {
        rule.names(self.query.tool) || (self.query.command_line.is_some() && rule.names("bash"))
    }

    /// Whether a rule that refuses or asks matches anything about the call.
    fn fires(&self, rule: &Rule) -> bool {
        if !self.concerns(rule) {
            return false;
        }
        if rule.is_bare() {
            return true;
        }
        if let (Some(line), Some(sightings)) = (self.query.command_line, &self.sightings) {
            return rule.fires_on_line(line, sightings);
        }
        self.texts
            .iter()
            .flatten()
            .chain(&self.path_texts)
            .any(|text| rule.fires_on_text(text, &self.path_texts))
    }
}

enum Covered<'r> {
    By(&'r Rule),
    Not(Option<&'static str>),
}

/// Whether each command is covered by a rule.
fn covered<'r>(parts: &[Part], rules: &[&'r Rule], depth: usize) -> Covered<'r> {
    let mut deciding = None;
    for part in parts {
        if let Some(doubt) = not_plain(part) {
            return Covered::Not(Some(doubt));
        }
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        match words_covered(&words, rules, depth) {
            Some(rule) => deciding = Some(rule),
            None => return Covered::Not(None),
        }
    }
    deciding.map_or(Covered::Not(None), Covered::By)
}

/// What about a command keeps rules from covering it.
fn not_plain(part: &Part) -> Option<&'static str> {
    let Some(program) = part.words.first() else {
        return Some("it sets variables or opens files");
    };
    if !part.assigned.is_empty() {
        return Some("it sets variables for a command");
    }
    if part.redirects {
        return Some("it redirects to or from a file");
    }
    if !part.words.iter().all(|word| word.literal) {
        return Some("a word is only known when it runs");
    }
    if !program.plain {
        return Some("the name of a program is quoted");
    }
    None
}

fn words_covered<'r>(words: &[&str], rules: &[&'r Rule], depth: usize) -> Option<&'r Rule> {
    let needed = words_to_spell(words);
    let mut covering = rules.iter().filter_map(|rule| {
        let spelled = rule.covers_words(words)?;
        Some((*rule, spelled))
    });
    let mut any = None;
    let alone = covering.find(|(rule, spelled)| {
        any = any.or(Some(*rule));
        *spelled >= needed
    });
    if let Some((rule, _)) = alone {
        return Some(rule);
    }
    // The program that runs another one is covered; the other one has to be covered as well.
    let rule = any?;
    if depth >= MAX_NESTING {
        return None;
    }
    match wrapped(words) {
        Wrapped::Command(at) => {
            let inner = words.get(at..)?;
            let plain = inner.first().is_some_and(|program| !program.contains(' '));
            (plain && words_covered(inner, rules, depth + 1).is_some()).then_some(rule)
        }
        Wrapped::Script(_, script) => {
            let line = CommandLine::read_nested(&script, depth + 1);
            let whole = line.doubt.is_none()
                && matches!(covered(&line.parts, rules, depth + 1), Covered::By(_));
            whole.then_some(rule)
        }
        Wrapped::No | Wrapped::Unknown | Wrapped::Input => None,
    }
}

//! One case in one language: its folders, its sessions, its steps in order, its first difference.

use super::case::Case;
use super::check::{Seen, check, check_form, files_to_snapshot, mentions};
use super::content::expand;
use super::driver::{Driver, Fault, Outcome};
use super::forms::{Difference, check_text};
use super::stage::{Stage, StageError};
use super::survivors;
use super::variables::Variables;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything was as expected.
    Passed,
    /// The first difference.
    Failed(Difference),
    /// It cannot run on this machine.
    Skipped(String),
}

/// A verdict, and whether the driver can go on.
#[derive(Debug)]
pub(crate) struct Report {
    /// How the case ended.
    pub(crate) verdict: Verdict,
    /// False when the driver hung or died and must be started again.
    pub(crate) driver_usable: bool,
    /// True when every call named a tool that is not there, so that nothing but this was seen.
    pub(crate) saw_nothing: bool,
}

impl Report {
    fn not_run(error: StageError) -> Self {
        Self {
            verdict: error.into(),
            driver_usable: true,
            saw_nothing: false,
        }
    }
}

const SURVIVOR_GRACE: Duration = Duration::from_secs(2);

struct Run<'a> {
    case: &'a Case,
    driver: &'a mut Driver,
    stage: Stage,
    variables: Variables,
    marker: Option<String>,
    limit: Duration,
    cap: Option<Duration>,
    broken: bool,
    calls: usize,
    unknown_tools: usize,
}

/// Runs `case`. `home` is where its folders go, `limit` the wait for a step that names none, `cap` bounds those that do.
pub(crate) fn run(
    case: &Case,
    driver: &mut Driver,
    home: PathBuf,
    limit: Duration,
    cap: Option<Duration>,
) -> Report {
    let marker = home
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let stage = match Stage::create(home) {
        Ok(stage) => stage,
        Err(error) => return Report::not_run(error),
    };
    let mut variables = Variables::default();
    variables.set("workspace", json!(stage.workspace()));
    variables.set("outside", json!(stage.outside()));
    variables.set("outsideRel", json!(stage.outside_relative()));
    let marker = marker.filter(|_| case.body["steps"].to_string().contains("\"survivors\""));
    let mut run = Run {
        case,
        driver,
        stage,
        variables,
        marker,
        limit,
        cap,
        broken: false,
        calls: 0,
        unknown_tools: 0,
    };
    let files = case
        .body
        .get("files")
        .map(|files| run.variables.apply(files));
    if let Err(error) = run.stage.fill(files.as_ref(), case.body["git"] == true) {
        return Report::not_run(error);
    }
    let mut verdict = match run.all() {
        Ok(()) => Verdict::Passed,
        Err(difference) => Verdict::Failed(difference),
    };
    if !run.broken
        && let Err(difference) = run.call(json!({"op": "reset"}), limit)
        && verdict == Verdict::Passed
    {
        verdict = Verdict::Failed(format!("closing everything: {difference}"));
    }
    Report {
        verdict,
        driver_usable: !run.broken,
        saw_nothing: run.calls > 0 && run.calls == run.unknown_tools,
    }
}

/// The answer to a call that names no tool of the session.
fn is_unknown_tool(outcome: &Outcome) -> bool {
    let Outcome::Result(result) = outcome else {
        return false;
    };
    result["errorKind"]["type"] == "invalid_argument" && result["errorKind"]["argument"] == "name"
}

impl From<StageError> for Verdict {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Platform(why) => Self::Skipped(why),
            StageError::Broken(why) => Self::Failed(why),
        }
    }
}

impl Run<'_> {
    fn all(&mut self) -> Result<(), Difference> {
        let open = self.open_request("open", self.case.body.get("options"))?;
        match self.call(open, self.limit)? {
            Outcome::Value(_) => {}
            other => return Err(format!("the session did not open: {other:?}")),
        }
        let case = self.case;
        for (number, step) in case.steps().iter().enumerate() {
            self.step(step).map_err(|difference| {
                let name = step["name"]
                    .as_str()
                    .or(step["do"].as_str())
                    .unwrap_or_default();
                format!("step {} ({name}): {difference}", number + 1)
            })?;
        }
        Ok(())
    }

    /// The request that opens or reopens a session, host tools expanded.
    fn open_request(&self, op: &str, options: Option<&Value>) -> Result<Value, Difference> {
        let mut request = json!({
            "op": op,
            "workspace": self.stage.workspace(),
            "store": self.stage.store(),
            "model": self.case.body.get("model").map_or_else(|| json!([]), |model| self.variables.apply(model)),
        });
        if let Some(options) = options {
            request["options"] = self.variables.apply(options);
        } else if op == "open" {
            request["options"] = json!({});
        }
        if let (Some(marker), Value::Object(options)) = (&self.marker, &mut request["options"]) {
            let environment = options.entry("commandEnv").or_insert_with(|| json!({}));
            environment[survivors::MARKER] = json!(marker);
        }
        let mut tools = Map::new();
        for (name, tool) in self.case.body["hostTools"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let bytes = expand(&self.variables.apply(&tool["output"]))?;
            let output =
                String::from_utf8(bytes).map_err(|error| format!("host tool {name}: {error}"))?;
            tools.insert(
                name.clone(),
                json!({"output": output, "fail": tool["fail"] == true}),
            );
        }
        request["hostTools"] = Value::Object(tools);
        Ok(request)
    }

    fn step(&mut self, step: &Value) -> Result<(), Difference> {
        let mut names = BTreeSet::new();
        files_to_snapshot(&step["expect"], &mut names);
        let before = names
            .into_iter()
            .map(|name| (name.clone(), self.stage.snapshot(&name)))
            .collect();
        for _ in 0..step["repeat"].as_u64().unwrap_or(1) {
            let last = match step.get("follow") {
                Some(follow) => self.follow(step, follow, &before)?,
                None => {
                    let outcome = self.perform(step, None)?;
                    let expected = self.variables.apply(&step["expect"]);
                    self.judge(&expected, &outcome, &before)?;
                    outcome
                }
            };
            self.save(step, &last)?;
        }
        Ok(())
    }

    /// Runs the step once for each page; texts to be counted are counted over all of them together.
    fn follow(
        &mut self,
        step: &Value,
        follow: &Value,
        before: &BTreeMap<String, Option<super::stage::Snapshot>>,
    ) -> Result<Outcome, Difference> {
        let text = |field: &str| {
            follow[field]
                .as_str()
                .ok_or_else(|| format!("follow.{field} is {}", follow[field]))
        };
        let (take, argument) = (text("take")?, text("as")?);
        let most = follow["maxPages"]
            .as_u64()
            .ok_or("follow.maxPages is missing")?;
        let mut expected = self.variables.apply(&step["expect"]);
        let mut over_all = Map::new();
        if let Some(output) = expected["output"].as_object_mut() {
            for key in ["count", "once"] {
                if let Some(form) = output.remove(key) {
                    over_all.insert(key.to_owned(), form);
                }
            }
        }
        let mut pages = String::new();
        let mut position = None;
        for page in 1..=most {
            let outcome = self.perform(step, position.take().map(|value| (argument, value)))?;
            self.judge(&expected, &outcome, before)
                .map_err(|difference| format!("page {page}: {difference}"))?;
            let Outcome::Result(result) = &outcome else {
                return Err(format!("page {page} is no ToolResult: {outcome:?}"));
            };
            pages.push_str(result["output"].as_str().unwrap_or_default());
            let metadata = &result["metadata"];
            let next = metadata.pointer(take).cloned().unwrap_or(Value::Null);
            let ended = follow["until"]
                .as_str()
                .is_some_and(|until| metadata.pointer(until) == Some(&Value::Bool(true)));
            if ended || next.is_null() || next == json!([]) || next == json!("") {
                check_text("the output of all pages", &pages, &Value::Object(over_all))?;
                return Ok(outcome);
            }
            position = Some(next);
        }
        Err(format!("there are more than {most} pages"))
    }

    /// Sends what the step says and returns what came of it.
    fn perform(
        &mut self,
        step: &Value,
        argument: Option<(&str, Value)>,
    ) -> Result<Outcome, Difference> {
        let action = step["do"].as_str().unwrap_or_default();
        let limit = match step["withinMs"].as_u64() {
            Some(limit) => Duration::from_millis(limit).min(self.cap.unwrap_or(Duration::MAX)),
            None => self.limit,
        };
        let mut request = match action {
            "open" | "reopen" => self.open_request(action, step.get("options"))?,
            "tool" | "governedTool" | "helper" | "send" | "stream" | "close" => {
                json!({"op": action})
            }
            other => return Err(format!("unknown step {other}")),
        };
        for key in ["name", "args", "prompt", "answers", "interrupt"] {
            if let Some(value) = step.get(key) {
                request[key] = self.variables.apply(value);
            }
        }
        if let Some((name, value)) = argument {
            request["args"][name] = value;
        }
        let Some(during) = step["during"].as_array() else {
            return self.call(request, limit);
        };
        request["during"] = json!(true);
        let id = self.send(request)?;
        let first = self.wait(id, limit)?;
        if !matches!(first, Outcome::Waiting) {
            return Err(format!("no confirmation request came: {first:?}"));
        }
        for inner in during {
            self.step(inner)
                .map_err(|difference| format!("during: {difference}"))?;
        }
        self.call(json!({"op": "resume", "of": id}), limit)?;
        self.wait(id, limit)
    }

    fn judge(
        &mut self,
        expected: &Value,
        outcome: &Outcome,
        before: &BTreeMap<String, Option<super::stage::Snapshot>>,
    ) -> Result<(), Difference> {
        check_form(outcome)?;
        if !matches!(outcome, Outcome::Value(Value::Null)) {
            self.calls += 1;
            self.unknown_tools += usize::from(is_unknown_tool(outcome));
        }
        let requests = if mentions(expected, "modelSaw") {
            Some(self.model_requests()?)
        } else {
            None
        };
        if let (Some(wanted), Some(marker)) = (expected["survivors"].as_u64(), &self.marker) {
            let wanted = usize::try_from(wanted).map_err(|error| error.to_string())?;
            let alive = survivors::settle(marker, wanted, SURVIVOR_GRACE);
            if alive != wanted {
                return Err(format!("{alive} processes are alive, not {wanted}"));
            }
        }
        check(
            expected,
            &Seen {
                outcome,
                stage: &self.stage,
                before,
                requests: requests.as_deref(),
            },
        )
    }

    fn model_requests(&mut self) -> Result<Vec<String>, Difference> {
        match self.call(json!({"op": "modelRequests"}), self.limit)? {
            Outcome::Value(Value::Array(texts)) => Ok(texts
                .iter()
                .map(|text| text.as_str().unwrap_or_default().to_owned())
                .collect()),
            other => Err(format!("the model's requests are not known: {other:?}")),
        }
    }

    fn save(&mut self, step: &Value, outcome: &Outcome) -> Result<(), Difference> {
        for (name, pointer) in step["save"].as_object().into_iter().flatten() {
            let found = match outcome {
                Outcome::Result(result) => pointer
                    .as_str()
                    .and_then(|pointer| result["metadata"].pointer(pointer)),
                _ => None,
            };
            let value =
                found.ok_or_else(|| format!("there is no metadata at {pointer} to save"))?;
            self.variables.set(name, value.clone());
        }
        Ok(())
    }

    fn call(&mut self, request: Value, limit: Duration) -> Result<Outcome, Difference> {
        let answer = self.driver.call(request, limit);
        self.note(answer)
    }

    fn send(&mut self, request: Value) -> Result<u64, Difference> {
        let answer = self.driver.send(request);
        self.note(answer)
    }

    fn wait(&mut self, id: u64, limit: Duration) -> Result<Outcome, Difference> {
        let answer = self.driver.wait(id, limit);
        self.note(answer)
    }

    /// After a fault nothing more is asked of this driver.
    fn note<T>(&mut self, answer: Result<T, Fault>) -> Result<T, Difference> {
        answer.map_err(|fault| {
            self.broken = true;
            fault.into()
        })
    }
}

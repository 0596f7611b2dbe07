//! One step at a time, through the public API of the engine.

use crate::host_tool::HostTool;
use a3s_code_core::contract;
use a3s_code_core::{
    Agent, AgentConfig, AgentSession, CallOptions, CodeError, ReadFileOptions, SessionOptions,
    ToolResult, VerificationCommand,
};
use base64::Engine;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the steps of a case share.
#[derive(Default)]
pub(crate) struct Driver {
    agent: Option<Agent>,
    session: Option<AgentSession>,
    sessions: Vec<AgentSession>,
}

/// What a step gave.
enum Answer {
    Value(Value),
    Result(ToolResult),
    Failed(CodeError),
    Unsupported(String),
}

impl From<CodeError> for Answer {
    fn from(error: CodeError) -> Self {
        Self::Failed(error)
    }
}

fn result(result: Result<ToolResult, CodeError>) -> Answer {
    result.map_or_else(Answer::Failed, Answer::Result)
}

fn value(result: Result<Value, CodeError>) -> Answer {
    result.map_or_else(Answer::Failed, Answer::Value)
}

impl Driver {
    /// Runs a step and says what it gave.
    pub(crate) async fn answer(&mut self, request: &Value) -> Value {
        let answer = match request["op"].as_str().unwrap_or_default() {
            "hello" => Answer::Value(json!({ "language": "rust" })),
            "open" => self.open(request).await,
            "tool" | "governedTool" => self.tool(request).await,
            "helper" => self.helper(request).await,
            "close" => {
                if let Some(session) = &self.session {
                    session.close().await;
                }
                Answer::Value(Value::Null)
            }
            "reset" => {
                self.reset().await;
                Answer::Value(Value::Null)
            }
            other => Answer::Unsupported(format!("operation {other}")),
        };
        match answer {
            Answer::Value(value) => json!({ "value": value }),
            Answer::Unsupported(what) => json!({ "unsupported": what }),
            Answer::Result(result) => json!({ "result": {
                "name": result.name, "output": result.output, "exitCode": result.exit_code,
                "metadata": result.metadata, "errorKind": result.error_kind,
            }}),
            Answer::Failed(error) => {
                let payload = error.payload();
                let kind = payload
                    .details
                    .as_ref()
                    .and_then(|details| details["errorKind"]["type"].as_str());
                let mut error =
                    json!({ "code": payload.code.as_str(), "message": payload.message });
                if let Some(kind) = kind {
                    error["kind"] = kind.into();
                }
                json!({ "error": error })
            }
        }
    }

    /// Ends a case.
    pub(crate) async fn reset(&mut self) {
        for session in self.sessions.drain(..) {
            session.close().await;
        }
        if let Some(agent) = self.agent.take() {
            agent.close().await;
        }
        self.session = None;
    }

    async fn open(&mut self, request: &Value) -> Answer {
        if request["model"]
            .as_array()
            .is_some_and(|model| !model.is_empty())
        {
            return Answer::Unsupported("model clients".to_owned());
        }
        let options =
            match serde_json::from_value::<contract::SessionOptions>(request["options"].clone()) {
                Ok(options) => options,
                Err(error) => {
                    return Answer::Failed(CodeError::SessionConfiguration {
                        field: "options".to_owned(),
                        message: error.to_string(),
                    });
                }
            };
        let mut options = SessionOptions::from_wire(options);
        for (name, tool) in request["hostTools"].as_object().into_iter().flatten() {
            options = options.with_tool(Arc::new(HostTool {
                name: name.clone(),
                output: tool["output"].as_str().unwrap_or_default().to_owned(),
                fail: tool["fail"] == true,
            }));
        }
        let agent = match &self.agent {
            Some(agent) => agent.clone(),
            None => match Agent::create(AgentConfig::default()).await {
                Ok(agent) => self.agent.insert(agent).clone(),
                Err(error) => return error.into(),
            },
        };
        let workspace = request["workspace"].as_str().unwrap_or_default();
        match agent.session(workspace, options).await {
            Ok(session) => {
                self.sessions.push(session.clone());
                self.session = Some(session);
                Answer::Value(Value::Null)
            }
            Err(error) => error.into(),
        }
    }

    async fn tool(&self, request: &Value) -> Answer {
        let Some(session) = self.session.clone() else {
            return Answer::Unsupported("a call without a session".to_owned());
        };
        let name = request["name"].as_str().unwrap_or_default();
        let args = request["args"].clone();
        let options = interrupted(&session, &request["interrupt"]);
        result(if request["op"] == "tool" {
            session.tool_with(name, args, options).await
        } else {
            session.governed_tool_with(name, args, options).await
        })
    }

    async fn helper(&self, request: &Value) -> Answer {
        let Some(session) = self.session.clone() else {
            return Answer::Unsupported("a call without a session".to_owned());
        };
        let args = request["args"].as_array().cloned().unwrap_or_default();
        let text = |at: usize| args.get(at).and_then(Value::as_str).unwrap_or_default();
        let options = interrupted(&session, &request["interrupt"]);
        match request["name"].as_str().unwrap_or_default() {
            "readFile" => {
                let lines: ReadFileOptions = args
                    .get(1)
                    .and_then(|lines| serde_json::from_value(lines.clone()).ok())
                    .unwrap_or_default();
                value(
                    session
                        .read_file_with_options(text(0), lines, options)
                        .await
                        .map(Value::String),
                )
            }
            "grep" => value(session.grep_with(text(0), options).await.map(Value::String)),
            "glob" => value(session.glob_with(text(0), options).await.map(Value::from)),
            "bash" => value(session.bash_with(text(0), options).await.map(Value::String)),
            "writeFile" => result(session.write_file_with(text(0), text(1), options).await),
            "editFile" => {
                let all = args.get(3).and_then(Value::as_bool).unwrap_or(false);
                result(
                    session
                        .edit_file_with(text(0), text(1), text(2), all, options)
                        .await,
                )
            }
            "patchFile" => result(session.patch_file_with(text(0), text(1), options).await),
            "git" | "gitCommand" => result(session.git_with(git_request(&args), options).await),
            "ls" => result(session.ls(args.first().and_then(Value::as_str)).await),
            "verifyCommands" => {
                let commands = args.get(1).cloned().unwrap_or_default();
                match serde_json::from_value::<Vec<VerificationCommand>>(commands) {
                    Ok(commands) => value(
                        session
                            .verify_commands_with(text(0), &commands, options)
                            .await
                            .map(|report| json!(report)),
                    ),
                    Err(error) => Answer::Unsupported(format!("commands: {error}")),
                }
            }
            "toolNames" => Answer::Value(session.tool_names().into()),
            "toolDefinitions" => Answer::Value(json!(session.tool_definitions())),
            "getArtifact" => Answer::Value(match session.get_artifact_bytes(text(0)) {
                None => Value::Null,
                Some((artifact, bytes)) => json!({
                    "artifactId": artifact.artifact_id,
                    "artifactUri": artifact.artifact_uri,
                    "toolName": artifact.tool_name,
                    "content": String::from_utf8_lossy(&bytes),
                    "bytesBase64": base64::engine::general_purpose::STANDARD.encode(&bytes),
                    "originalBytes": artifact.original_bytes,
                    "shownBytes": artifact.shown_bytes,
                }),
            }),
            other => Answer::Unsupported(format!("helper {other}")),
        }
    }
}

/// The arguments of `git` for a helper's: all in one object, or the command and what follows it in order.
fn git_request(args: &[Value]) -> Value {
    const POSITIONS: [&str; 12] = [
        "command",
        "subcommand",
        "name",
        "path",
        "new_branch",
        "base",
        "force",
        "max_count",
        "message",
        "include_untracked",
        "target",
        "ref",
    ];
    match args {
        [Value::Object(request), ..] => request
            .iter()
            .map(|(name, value)| {
                let name = name.chars().fold(String::new(), |mut name, letter| {
                    if letter.is_ascii_uppercase() {
                        name.push('_');
                    }
                    name.push(letter.to_ascii_lowercase());
                    name
                });
                (name, value.clone())
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        args => POSITIONS
            .iter()
            .zip(args)
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// Arranges what a step asks to happen while it runs.
fn interrupted(session: &AgentSession, interrupt: &Value) -> CallOptions {
    let mut options = CallOptions::default();
    let Some(after) = interrupt["afterMs"].as_u64() else {
        return options;
    };
    let after = Duration::from_millis(after);
    if interrupt["by"] == "close" {
        let session = session.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            session.close().await;
        });
    } else {
        let token = CancellationToken::new();
        options.cancellation = Some(token.clone());
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            token.cancel();
        });
    }
    options
}

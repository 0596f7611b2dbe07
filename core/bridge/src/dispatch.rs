//! From a method's name to the engine: arguments by name in, JSON and bytes out. Nothing clever.

use crate::debug;
use crate::direct;
use crate::host::{HostTool, compile_tools};
use crate::mailbox::Mailbox;
use crate::operation::{Answer, Reply, invalid};
use crate::refusal;
use crate::runtime::Runtime;
use crate::state::{AgentObject, Object, SessionObject, state};
use a3s_code_contract::{
    self as contract, ErrorCode, ErrorPayload, HostToolSpec, ToolResult, VerificationCommand,
    VerificationReport,
};
use a3s_code_core::tools::Caller;
use a3s_code_core::{Agent, AgentSession, CallOptions, CodeError, SessionOptions};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The work of a method.
pub(crate) type Work = BoxFuture<'static, Answer>;

/// One call, taken apart.
pub(crate) struct Request {
    pub(crate) handle: u64,
    pub(crate) object: Object,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) data: Vec<u8>,
    pub(crate) mailbox: Option<Arc<Mailbox>>,
    pub(crate) cancellation: CancellationToken,
}

impl Request {
    pub(crate) fn take<T: DeserializeOwned + JsonSchema>(
        &mut self,
        name: &str,
    ) -> Result<T, ErrorPayload> {
        self.take_optional(name)?
            .ok_or_else(|| argument_error(name, "is missing"))
    }

    pub(crate) fn take_optional<T: DeserializeOwned + JsonSchema>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, ErrorPayload> {
        match self.arguments.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => refusal::read(&value).map(Some).map_err(|fault| {
                let place = fault.beneath(name);
                invalid(format!("argument `{place}`: {}", fault.message))
                    .with_details(fault.details("argument", &place))
            }),
        }
    }

    /// Text that may be large: the bytes beside the JSON, or an argument like any other.
    pub(crate) fn take_text(&mut self, name: &str) -> Result<String, ErrorPayload> {
        if let Some(text) = self.take_optional(name)? {
            return Ok(text);
        }
        String::from_utf8(std::mem::take(&mut self.data))
            .map_err(|error| argument_error(name, &format!("is not UTF-8: {error}")))
    }

    /// Refuses arguments that nothing took.
    pub(crate) fn finish(&self) -> Result<(), ErrorPayload> {
        match self.arguments.keys().next() {
            Some(name) => Err(argument_error(name, "is not an argument of this method")),
            None => Ok(()),
        }
    }

    pub(crate) fn session(&self) -> Result<AgentSession, ErrorPayload> {
        match &self.object {
            Object::Session(session) => Ok(session.session.clone()),
            _ => Err(no_such()),
        }
    }

    fn agent(&self) -> Result<Agent, ErrorPayload> {
        match &self.object {
            Object::Agent(agent) => Ok(agent.agent.clone()),
            _ => Err(no_such()),
        }
    }

    pub(crate) fn call_options(&self) -> CallOptions {
        CallOptions {
            caller: self.caller(),
            cancellation: Some(self.cancellation.clone()),
        }
    }

    fn caller(&self) -> Caller {
        match &self.mailbox {
            Some(mailbox) => Caller::new(Arc::clone(mailbox) as _),
            None => Caller::default(),
        }
    }
}

fn argument_error(name: &str, message: &str) -> ErrorPayload {
    invalid(format!("argument `{name}`: {message}")).with_details(json!({ "argument": name }))
}

pub(crate) fn no_such() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Internal, "the method is not served")
}

pub(crate) fn failed(error: CodeError) -> ErrorPayload {
    // Options are named as the wire spells them, whoever found the fault.
    if let CodeError::SessionConfiguration { field, message } = &error {
        return wrong_option(&wire_name(field), message);
    }
    error.payload()
}

fn wrong_option(field: &str, message: &str) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::SessionConfiguration,
        format!("option `{field}`: {message}"),
    )
    .with_details(json!({ "field": field }))
}

fn wire_name(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    let mut upper = false;
    for letter in field.chars() {
        match letter {
            '_' => upper = true,
            _ if upper => {
                name.extend(letter.to_uppercase());
                upper = false;
            }
            _ => name.push(letter),
        }
    }
    name
}

/// Methods that never wait.
pub(crate) fn immediate(method: &str, mut request: Request) -> Answer {
    match method {
        "runtime.sdkCapabilities" => Reply::json(&contract::sdk_capabilities()),
        "agent.isClosed" => Reply::json(&request.agent()?.is_closed()),
        "session.isClosed" => Reply::json(&request.session()?.is_closed()),
        "session.sessionId" => Reply::json(&request.session()?.session_id()),
        "session.workspace" => Reply::json(&request.session()?.workspace()),
        "session.toolNames" => Reply::json(&open_session(&request)?.tool_names()),
        "session.toolDefinitions" => Reply::json(&open_session(&request)?.tool_definitions()),
        "session.presentedToolDefinitions" => {
            let prompt: Option<String> = request.take_optional("prompt")?;
            Reply::json(&open_session(&request)?.presented_tool_definitions(prompt.as_deref()))
        }
        "session.verificationReports" => {
            Reply::json(&open_session(&request)?.verification_reports())
        }
        "session.recordVerificationReports" => {
            let session = open_session(&request)?;
            let reports: Vec<VerificationReport> = request.take("reports")?;
            request.finish()?;
            match session.record_verification_reports(reports) {
                Ok(()) => Reply::json(&()),
                Err(error) => Err(failed(error)),
            }
        }
        "session.verificationSummary" => {
            Reply::json(&open_session(&request)?.verification_summary())
        }
        "session.verificationSummaryText" => {
            Reply::json(&open_session(&request)?.verification_summary_text())
        }
        "session.verificationPresets" => {
            Reply::json(&open_session(&request)?.verification_presets())
        }
        _ => Err(no_such()),
    }
}

fn open_session(request: &Request) -> Result<AgentSession, ErrorPayload> {
    let session = request.session()?;
    if session.is_closed() {
        return Err(failed(CodeError::SessionClosed {
            session_id: session.session_id().to_owned(),
        }));
    }
    Ok(session)
}

/// Methods that may wait.
pub(crate) fn start(method: &str, mut request: Request) -> Result<Work, ErrorPayload> {
    let work: Work = match method {
        "agent.create" => create_agent(request)?,
        "agent.session" => open(request)?,
        "agent.listSessions" => {
            let agent = request.agent()?;
            if agent.is_closed() {
                return Err(failed(CodeError::AgentClosed));
            }
            ready(Reply::json(&agent.list_sessions()))
        }
        "agent.closeSession" => {
            let agent = request.agent()?;
            let id: String = request.take("sessionId")?;
            Box::pin(async move {
                if agent.is_closed() {
                    return Err(failed(CodeError::AgentClosed));
                }
                Reply::json(&agent.close_session(&id).await)
            })
        }
        "agent.close" => {
            let agent = request.agent()?;
            Box::pin(async move {
                agent.close().await;
                Reply::json(&())
            })
        }
        "session.close" => {
            let session = request.session()?;
            Box::pin(async move {
                session.close().await;
                Reply::json(&())
            })
        }
        "session.tool" | "session.governedTool" => {
            let session = request.session()?;
            let name: String = request.take("name")?;
            let args: Value = tool_arguments(&mut request)?;
            let options = request.call_options();
            let governed = method == "session.governedTool";
            let cancelled = request.cancellation.clone();
            Box::pin(async move {
                let result = if governed {
                    session.governed_tool_with(&name, args, options).await
                } else {
                    session.tool_with(&name, args, options).await
                };
                tool_answer(result, &cancelled)
            })
        }
        "session.readFile" | "session.writeFile" | "session.editFile" | "session.patchFile"
        | "session.ls" | "session.grep" | "session.glob" | "session.bash" | "session.git"
        | "session.gitCommand" => direct::start(method, request)?,
        "session.verifyCommands" => {
            let session = request.session()?;
            let subject: String = request.take("subject")?;
            let commands: Vec<VerificationCommand> = request.take("commands")?;
            request.finish()?;
            let options = request.call_options();
            Box::pin(async move {
                let report = session
                    .verify_commands_with(&subject, &commands, options)
                    .await;
                Reply::json(&report.map_err(failed)?)
            })
        }
        "session.activeTools" => ready(Reply::json(&open_session(&request)?.active_tools())),
        "session.getArtifact" => {
            let uri: String = request.take("uri")?;
            ready(artifact(&open_session(&request)?, &uri))
        }
        "session.registerTool" => {
            let spec: HostToolSpec = request.take("tool")?;
            ready(register(&request, spec))
        }
        "session.unregisterTool" => {
            let session = request.session()?;
            let name: String = request.take("name")?;
            ready(match session.unregister_dynamic_tool(&name) {
                Ok(removed) => Reply::json(&removed),
                Err(error) => Err(failed(error)),
            })
        }
        "hostCall.invokeTool" => nested(request)?,
        "debug.fail" | "debug.panic" | "debug.echo" => {
            return debug::start(method, request.arguments, request.data);
        }
        _ => return Err(no_such()),
    };
    Ok(work)
}

fn ready(answer: Answer) -> Work {
    Box::pin(std::future::ready(answer))
}

fn tool_arguments(request: &mut Request) -> Result<Value, ErrorPayload> {
    let args = request.arguments.remove("args").unwrap_or(Value::Null);
    request.finish()?;
    // An absent object of arguments is an empty one, in every language.
    Ok(if args.is_null() { json!({}) } else { args })
}

fn create_agent(mut request: Request) -> Result<Work, ErrorPayload> {
    let runtime = Arc::clone(&request.runtime);
    let config = match request.arguments.remove("source") {
        None | Some(Value::Null) => contract::AgentConfig::default(),
        Some(Value::Object(object)) => refusal::read(&Value::Object(object)).map_err(|fault| {
            let place = fault.beneath("source");
            ErrorPayload::new(ErrorCode::Config, format!("`{place}`: {}", fault.message))
                .with_details(fault.details("argument", &place))
        })?,
        Some(_) => {
            return Err(ErrorPayload::new(
                ErrorCode::Unsupported,
                "argument `source`: configuration files and text are not served yet; leave it out",
            ));
        }
    };
    request.finish()?;
    Ok(Box::pin(async move {
        let agent = Agent::create(config).await.map_err(failed)?;
        let handle = state().insert(Object::Agent(Arc::new(AgentObject { agent, runtime })))?;
        Reply::json(&json!({ "handle": handle }))
    }))
}

fn open(mut request: Request) -> Result<Work, ErrorPayload> {
    let agent = request.agent()?;
    let workspace: String = request.take("workspace")?;
    let mut options = wire_options(request.arguments.remove("options"))?;
    request.finish()?;
    let tools = compile_tools(
        std::mem::take(&mut options.tools),
        &request.runtime,
        request.mailbox.as_ref(),
    )?;
    let runtime = Arc::clone(&request.runtime);
    let cancellation = request.cancellation.clone();
    Ok(Box::pin(async move {
        let mut options = SessionOptions::from_wire(options);
        for tool in &tools {
            options = options.with_tool(Arc::clone(tool) as _);
        }
        if runtime.debug() {
            options = debug::with_tools(options);
        }
        let building = agent.session_builder(workspace).options(options).build();
        let session = tokio::select! {
            biased;
            built = building => built.map_err(failed)?,
            () = cancellation.cancelled() => {
                return Err(ErrorPayload::new(ErrorCode::Cancelled, "opening the session was cancelled"));
            }
        };
        let opened = (
            session.session_id().to_owned(),
            session.workspace().to_owned(),
        );
        let handle = state().insert(Object::Session(Arc::new(SessionObject {
            session,
            runtime,
        })))?;
        for tool in &tools {
            tool.belongs_to(handle);
        }
        Reply::json(&json!({ "handle": handle, "sessionId": opened.0, "workspace": opened.1 }))
    }))
}

/// Reads session options: unknown keys are refused by name, keys that begin with `x-` are left out.
fn wire_options(value: Option<Value>) -> Result<contract::SessionOptions, ErrorPayload> {
    let mut value = match value {
        None | Some(Value::Null) => return Ok(contract::SessionOptions::default()),
        Some(value) => value,
    };
    if let Value::Object(options) = &mut value {
        options.retain(|key, _| !key.starts_with("x-"));
    }
    refusal::read(&value).map_err(|fault| {
        let field = match fault.path.as_str() {
            "" => "options",
            path => path,
        };
        ErrorPayload::new(
            ErrorCode::SessionConfiguration,
            format!("option `{field}`: {}", fault.message),
        )
        .with_details(fault.details("field", field))
    })
}

fn register(request: &Request, spec: HostToolSpec) -> Answer {
    let session = request.session()?;
    let tools = compile_tools(vec![spec], &request.runtime, request.mailbox.as_ref())?;
    for tool in tools {
        tool.belongs_to(request.handle);
        session
            .register_dynamic_tool(tool as Arc<HostTool> as _)
            .map_err(failed)?;
    }
    Reply::json(&())
}

fn nested(mut request: Request) -> Result<Work, ErrorPayload> {
    let Object::HostCall(call) = &request.object else {
        return Err(no_such());
    };
    let runtime = call.nested_calls();
    let name: String = request.take("name")?;
    let args = tool_arguments(&mut request)?;
    let caller = request.caller();
    let cancelled = request.cancellation.clone();
    Ok(Box::pin(async move {
        let invoked = runtime.invoke_tool_for(caller, &name, args);
        let result = tokio::select! {
            biased;
            result = invoked => result,
            () = cancelled.cancelled() => {
                return Err(ErrorPayload::new(ErrorCode::Cancelled, "the call was cancelled"));
            }
        };
        match result {
            Err(CodeError::SessionClosed { session_id }) => Err(ErrorPayload::new(
                ErrorCode::HandleClosed,
                format!("{session_id} has ended"),
            )),
            other => tool_answer(other, &cancelled),
        }
    }))
}

/// A tool result without its text, which travels beside it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    name: &'a str,
    exit_code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<&'a contract::ToolErrorKind>,
    trust: contract::Trust,
}

pub(crate) fn tool_answer(
    result: Result<ToolResult, CodeError>,
    cancelled: &CancellationToken,
) -> Answer {
    let result = result.map_err(failed)?;
    let was_cancelled = matches!(
        result.error_kind,
        Some(contract::ToolErrorKind::Cancelled { .. })
    );
    // Whoever cancelled this very call gets an error; a session that was closed gives a result.
    if was_cancelled && cancelled.is_cancelled() {
        return Err(ErrorPayload::new(ErrorCode::Cancelled, result.output));
    }
    let head = Head {
        name: &result.name,
        exit_code: result.exit_code,
        metadata: result.metadata.as_ref(),
        error_kind: result.error_kind.as_ref(),
        trust: result.trust,
    };
    let head = serde_json::to_vec(&head)
        .map_err(|error| ErrorPayload::new(ErrorCode::Serialization, error.to_string()))?;
    Ok(Reply {
        payload: head,
        data: result.output.into_bytes(),
    })
}

pub(crate) fn text_answer(text: Result<String, CodeError>) -> Answer {
    Reply::with_data(&(), text.map_err(failed)?.into_bytes())
}

fn artifact(session: &AgentSession, uri: &str) -> Answer {
    match session.get_artifact_bytes(uri) {
        None => Reply::json(&()),
        Some((artifact, bytes)) => {
            let mut record = serde_json::to_value(&artifact)
                .map_err(|error| ErrorPayload::new(ErrorCode::Serialization, error.to_string()))?;
            if let Value::Object(record) = &mut record {
                record.remove("content");
            }
            Reply::with_data(&record, bytes)
        }
    }
}

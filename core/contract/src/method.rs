//! The table of methods: what every language can call, from which the typed stubs are generated.
//!
//! A row states the arguments in positional order, the result, where large bytes travel, and how a
//! language offers it: `sync` methods are immediate everywhere (no promise, no context); `inline` ones
//! may be answered on the caller's thread because they do not block before their first wait.

/// Type of an argument, a result or an event field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing.
    Unit,
    /// Text.
    String,
    /// True or false.
    Boolean,
    /// Integer within 2^53 - 1.
    Integer,
    /// Any number.
    Number,
    /// Opaque JSON, never re-keyed.
    Json,
    /// A list.
    List(&'static Type),
    /// Something or nothing.
    Optional(&'static Type),
    /// A type of this crate, by name.
    Named(&'static str),
}

/// What a method is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A runtime.
    Runtime,
    /// An agent.
    Agent,
    /// A session.
    Session,
    /// A host call that is still running.
    HostCall,
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name on the wire.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Whether it must be given.
    pub required: bool,
    /// What it is, with units and bounds.
    pub doc: &'static str,
}

/// One method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Name on the wire, `target.method`.
    pub name: &'static str,
    /// What it is called on.
    pub target: Target,
    /// One sentence.
    pub doc: &'static str,
    /// Errors by code and what each means here.
    pub errors: &'static str,
    /// What cancelling does.
    pub cancellation: &'static str,
    /// Arguments in positional order.
    pub arguments: &'static [Argument],
    /// What it returns.
    pub result: Type,
    /// Immediate in every language: never waits.
    pub sync: bool,
    /// May be answered on the caller's thread.
    pub inline: bool,
    /// Key of the result whose value travels as raw bytes beside the JSON; `""` when the bytes are the result.
    pub data_out: Option<&'static str>,
    /// Argument whose value travels as raw bytes beside the JSON.
    pub data_in: Option<&'static str>,
    /// Whether the generators write its stub; the rest is hand-written around it.
    pub stub: bool,
}

const fn required(name: &'static str, kind: Type, doc: &'static str) -> Argument {
    Argument {
        name,
        kind,
        required: true,
        doc,
    }
}

const fn optional(name: &'static str, kind: Type, doc: &'static str) -> Argument {
    Argument {
        name,
        kind,
        required: false,
        doc,
    }
}

const CANCEL_CALL: &str = "Cancels this call; the tool stops and the error is CANCELLED.";
const CANCEL_NONE: &str = "Never waits.";

const BASE: Method = Method {
    name: "",
    target: Target::Session,
    doc: "",
    errors: "SESSION_CLOSED after close.",
    cancellation: CANCEL_CALL,
    arguments: &[],
    result: Type::Unit,
    sync: false,
    inline: false,
    data_out: None,
    data_in: None,
    stub: true,
};

const NAME: Argument = required("name", Type::String, "Name of the tool.");
const PATH: Argument = required("path", Type::String, "Path in the workspace.");
const ARGS: Argument = required("args", Type::Json, "Its arguments, an object.");

/// Every method.
pub const METHODS: &[Method] = &[
    Method {
        name: "runtime.sdkCapabilities",
        target: Target::Runtime,
        doc: "Lists what the product offers as a contract; does not vary with a session.",
        errors: "None.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::Named("SdkCapability")),
        sync: true,
        inline: true,
        stub: false,
        ..BASE
    },
    Method {
        name: "agent.create",
        target: Target::Runtime,
        doc: "Opens an agent; it needs no file, key or model.",
        errors: "CONFIG_ERROR when the configuration is wrong; UNSUPPORTED for a source that cannot be served yet.",
        cancellation: "The agent is not opened.",
        arguments: &[optional(
            "source",
            Type::Json,
            "Path of an `.acl` file, inline configuration text, or an object.",
        )],
        result: Type::Named("OpenedAgent"),
        inline: true,
        stub: false,
        ..BASE
    },
    Method {
        name: "agent.session",
        target: Target::Agent,
        doc: "Opens a session on a workspace.",
        errors: "SESSION_CONFIGURATION_ERROR with `details.field` for a wrong option; NOT_FOUND when the workspace is missing; HANDLE_CLOSED after close.",
        cancellation: "The session is not opened.",
        arguments: &[
            required(
                "workspace",
                Type::String,
                "Folder of the workspace; a label for a backend that is not local.",
            ),
            optional(
                "options",
                Type::Named("SessionOptions"),
                "Options of the session.",
            ),
        ],
        result: Type::Named("OpenedSession"),
        stub: false,
        ..BASE
    },
    Method {
        name: "agent.listSessions",
        target: Target::Agent,
        doc: "Lists the ids of the live sessions, sorted.",
        errors: "HANDLE_CLOSED after close.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::String),
        inline: true,
        ..BASE
    },
    Method {
        name: "agent.closeSession",
        target: Target::Agent,
        doc: "Closes a session by id; true when it was open.",
        errors: "HANDLE_CLOSED after close.",
        cancellation: "The session goes on closing.",
        arguments: &[required("sessionId", Type::String, "Id of the session.")],
        result: Type::Boolean,
        ..BASE
    },
    Method {
        name: "agent.close",
        target: Target::Agent,
        doc: "Closes the agent and its sessions; running calls end as cancelled. Closing again does nothing.",
        errors: "None.",
        cancellation: "The agent goes on closing.",
        ..BASE
    },
    Method {
        name: "agent.isClosed",
        target: Target::Agent,
        doc: "Tells whether the agent is closed.",
        errors: "None.",
        cancellation: CANCEL_NONE,
        result: Type::Boolean,
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.tool",
        doc: "Calls a tool directly: permission and confirmation are skipped, because the application chose the call; hooks, budget, deadlines and evidence are not.",
        errors: "SESSION_CLOSED after close; CANCELLED, TIMEOUT are results with an error kind, not errors. A failed call is a result: look at the exit code.",
        arguments: &[NAME, ARGS],
        result: Type::Named("ToolResult"),
        inline: true,
        data_out: Some("output"),
        ..BASE
    },
    Method {
        name: "session.governedTool",
        doc: "Calls a tool as a model would: permission, confirmation, skill limits, hooks and budget apply.",
        errors: "SESSION_CLOSED after close. A refusal is a result with kind permission_denied.",
        arguments: &[NAME, ARGS],
        result: Type::Named("ToolResult"),
        inline: true,
        data_out: Some("output"),
        ..BASE
    },
    Method {
        name: "session.readFile",
        doc: "Reads a text file of the workspace: its exact text, or the lines asked for.",
        errors: "NOT_FOUND when it is missing; INVALID_ARGUMENT for a path outside the workspace; UNSUPPORTED when it is not UTF-8 text; TOOL_ERROR otherwise.",
        arguments: &[
            PATH,
            optional(
                "options",
                Type::Named("ReadFileOptions"),
                "`offset`: first line, from 0; `limit`: number of lines, at least 1.",
            ),
        ],
        result: Type::String,
        inline: true,
        data_out: Some(""),
        ..BASE
    },
    Method {
        name: "session.ls",
        doc: "Lists a folder of the workspace.",
        arguments: &[optional(
            "path",
            Type::String,
            "Folder; the root when left out.",
        )],
        result: Type::Named("ToolResult"),
        inline: true,
        data_out: Some("output"),
        ..BASE
    },
    Method {
        name: "session.writeFile",
        doc: "Writes a file of the workspace, whole: exactly this text. A failure is a result: look at the exit code.",
        arguments: &[
            PATH,
            required("content", Type::String, "The whole text, encoded as UTF-8."),
        ],
        result: Type::Named("ToolResult"),
        inline: true,
        data_out: Some("output"),
        data_in: Some("content"),
        ..BASE
    },
    Method {
        name: "session.editFile",
        doc: "Replaces exact text in a file: its one occurrence, or each. A failure is a result: look at the exit code.",
        arguments: &[
            PATH,
            required("oldString", Type::String, "The exact text to find."),
            required("newString", Type::String, "The text in its place."),
            optional(
                "replaceAll",
                Type::Boolean,
                "Whether each occurrence is replaced; with false there must be one.",
            ),
        ],
        result: Type::Named("ToolResult"),
        inline: true,
        data_out: Some("output"),
        ..BASE
    },
    Method {
        name: "session.patchFile",
        doc: "Applies a unified diff to a file, all of its hunks or none. A failure is a result: look at the exit code.",
        arguments: &[PATH, required("diff", Type::String, "The unified diff.")],
        result: Type::Named("ToolResult"),
        inline: true,
        data_out: Some("output"),
        data_in: Some("diff"),
        ..BASE
    },
    Method {
        name: "session.bash",
        doc: "Runs a command line in the workspace: its output and, when its status is not 0, a last line that states it. A status that is not 0 is no error.",
        errors: "TIMEOUT at its time limit; CANCELLED, also when the session is closed; TOOL_ERROR when it cannot be started.",
        arguments: &[required("command", Type::String, "The command line.")],
        result: Type::String,
        data_out: Some(""),
        ..BASE
    },
    Method {
        name: "session.git",
        doc: "Runs one git operation on the workspace's repository. A failure is a result: look at the exit code.",
        errors: "INVALID_ARGUMENT for an option that there is not; SESSION_CLOSED after close.",
        arguments: &[required(
            "options",
            Type::Named("GitOptions"),
            "The operation and what it works on. Node and Python also take these one by one, in this order: command, subcommand, name, path, newBranch, base, force, maxCount, message, includeUntracked, target, ref.",
        )],
        result: Type::Named("ToolResult"),
        data_out: Some("output"),
        stub: false,
        ..BASE
    },
    Method {
        name: "session.gitCommand",
        doc: "Runs one git operation, asked for by the arguments of the tool `git`. A failure is a result: look at the exit code.",
        arguments: &[required(
            "request",
            Type::Json,
            "Arguments of the tool `git`, an object; the names of the options are taken as well.",
        )],
        result: Type::Named("ToolResult"),
        data_out: Some("output"),
        ..BASE
    },
    Method {
        name: "session.grep",
        doc: "Searches file contents by regular expression: one `path:line:text` a hit, in lexical order, every hit.",
        errors: "INVALID_ARGUMENT when the pattern does not compile; TOOL_ERROR otherwise.",
        arguments: &[required("pattern", Type::String, "Regular expression.")],
        result: Type::String,
        data_out: Some(""),
        ..BASE
    },
    Method {
        name: "session.glob",
        doc: "Lists the paths that match a pattern, in lexical order, every path.",
        errors: "INVALID_ARGUMENT when the pattern is wrong; TOOL_ERROR otherwise.",
        arguments: &[required(
            "pattern",
            Type::String,
            "Glob: `*` stays in a folder, `**` crosses, `?`, `[...]`, `{a,b}`.",
        )],
        result: Type::List(&Type::String),
        ..BASE
    },
    Method {
        name: "session.toolNames",
        doc: "Names of the tools this session offers now, sorted.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::String),
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.toolDefinitions",
        doc: "Definitions of the tools this session offers now, sorted by name.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::Named("ToolDefinition")),
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.presentedToolDefinitions",
        doc: "Definitions of the tools the model is shown under the session's presentation.",
        cancellation: CANCEL_NONE,
        arguments: &[optional(
            "prompt",
            Type::String,
            "Prompt that the presentation may depend on.",
        )],
        result: Type::List(&Type::Named("ToolDefinition")),
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.activeTools",
        doc: "Calls that are running now, oldest first.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::Named("ActiveTool")),
        inline: true,
        ..BASE
    },
    Method {
        name: "session.getArtifact",
        doc: "Fetches the complete original of a cut result while it is retained; nothing otherwise.",
        cancellation: CANCEL_NONE,
        arguments: &[required(
            "uri",
            Type::String,
            "`a3s://tool-output/...` of this session.",
        )],
        result: Type::Optional(&Type::Named("ToolArtifact")),
        inline: true,
        data_out: Some("bytes"),
        stub: false,
        ..BASE
    },
    Method {
        name: "session.verifyCommands",
        doc: "Runs commands one after the other in the workspace and reports what each came to, with its exit status and output. The report is kept in the session.",
        errors: "INVALID_ARGUMENT when a command is malformed, nothing has run then; CANCELLED; SESSION_CLOSED after close. A check that fails is in the report.",
        cancellation: "Cancels the command that runs; the rest is not run, and no report is kept.",
        arguments: &[
            required("subject", Type::String, "What is checked, 1 to 1024 bytes."),
            required(
                "commands",
                Type::List(&Type::Named("VerificationCommand")),
                "The commands, at most 64, each with its own id.",
            ),
        ],
        result: Type::Named("VerificationReport"),
        ..BASE
    },
    Method {
        name: "session.verificationReports",
        doc: "Reports of this session, oldest first; the last 256.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::Named("VerificationReport")),
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.recordVerificationReports",
        doc: "Adds reports that the application made itself.",
        errors: "INVALID_ARGUMENT when a report is malformed, nothing is added then; SESSION_CLOSED after close.",
        cancellation: CANCEL_NONE,
        arguments: &[required(
            "reports",
            Type::List(&Type::Named("VerificationReport")),
            "The reports, at most 256.",
        )],
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.verificationSummary",
        doc: "What the reports of this session come to; of several about one subject the last counts.",
        cancellation: CANCEL_NONE,
        result: Type::Named("VerificationSummary"),
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.verificationSummaryText",
        doc: "The same in words.",
        cancellation: CANCEL_NONE,
        result: Type::String,
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.verificationPresets",
        doc: "Commands that fit the project in the workspace, by what stands in its root: Rust, Node, Python, Go.",
        cancellation: CANCEL_NONE,
        result: Type::List(&Type::Named("VerificationPreset")),
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.registerTool",
        doc: "Adds a tool written in the application's language; runs that started earlier do not see it.",
        errors: "INVALID_ARGUMENT when the name is taken, built in or malformed, or the schema is refused.",
        cancellation: CANCEL_NONE,
        arguments: &[required("tool", Type::Named("HostToolSpec"), "The tool.")],
        inline: true,
        stub: false,
        ..BASE
    },
    Method {
        name: "session.unregisterTool",
        doc: "Removes a tool that the application added; true when it was there.",
        errors: "INVALID_ARGUMENT for a built-in tool.",
        cancellation: CANCEL_NONE,
        arguments: &[NAME],
        result: Type::Boolean,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.close",
        doc: "Closes the session: running calls end as cancelled and everything it owns is released. Closing again does nothing.",
        errors: "None.",
        cancellation: "The session goes on closing.",
        ..BASE
    },
    Method {
        name: "session.isClosed",
        doc: "Tells whether the session is closed.",
        errors: "None.",
        cancellation: CANCEL_NONE,
        result: Type::Boolean,
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.sessionId",
        doc: "Id of the session.",
        errors: "None.",
        cancellation: CANCEL_NONE,
        result: Type::String,
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "session.workspace",
        doc: "Root of the workspace.",
        errors: "None.",
        cancellation: CANCEL_NONE,
        result: Type::String,
        sync: true,
        inline: true,
        ..BASE
    },
    Method {
        name: "hostCall.invokeTool",
        target: Target::HostCall,
        doc: "Calls another tool from inside a handler; always governed, and only while the handler's call runs.",
        errors: "HANDLE_CLOSED once the call has ended.",
        arguments: &[NAME, ARGS],
        result: Type::Named("ToolResult"),
        data_out: Some("output"),
        stub: false,
        ..BASE
    },
    Method {
        name: "debug.fail",
        target: Target::Runtime,
        doc: "Fails with a code; only in a runtime opened with `debug`.",
        errors: "The code asked for.",
        cancellation: CANCEL_NONE,
        arguments: &[required("code", Type::String, "The code.")],
        inline: true,
        stub: false,
        ..BASE
    },
    Method {
        name: "debug.panic",
        target: Target::Runtime,
        doc: "Panics at a place: `entry` or `task`; only in a runtime opened with `debug`.",
        errors: "PANIC.",
        cancellation: CANCEL_NONE,
        arguments: &[required("place", Type::String, "`entry` or `task`.")],
        inline: true,
        stub: false,
        ..BASE
    },
    Method {
        name: "debug.echo",
        target: Target::Runtime,
        doc: "Returns its argument and its bytes unchanged; only in a runtime opened with `debug`.",
        errors: "INVALID_ARGUMENT when the JSON breaks the rules of the wire.",
        cancellation: CANCEL_NONE,
        arguments: &[required("value", Type::Json, "Any JSON.")],
        result: Type::Json,
        inline: true,
        data_in: Some("bytes"),
        data_out: Some("bytes"),
        stub: false,
        ..BASE
    },
];

//! `git`: eight operations on the repository of the workspace, through the git program.
//!
//! What reads declares itself so and takes no lock; lists, log and diff come in pages whose cursors are bound to what
//! they were cut from. Nothing that the repository's configuration names is run (module `program`), no remote is
//! reached, and no name that begins like an option gets as far as git. There is deliberately no commit, merge, push
//! or reset here: for those there is `bash`, with the rules for commands.

mod changes;
mod diff;
mod lists;
mod log;
mod names;
mod place;
mod program;
mod redact;
mod site;
mod status;

use super::{
    OutputKind, PathUse, Tool, ToolCall, ToolCapabilities, ToolError, ToolErrorKind, ToolOutput,
    schema,
};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use site::Site;

/// Bytes of a result kept free for its first line and its footer.
const RESERVED_BYTES: usize = 512;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Status,
    Log,
    Branch,
    Checkout,
    Diff,
    Stash,
    Remote,
    Worktree,
}

/// What is done with worktrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Subcommand {
    #[default]
    List,
    Create,
    Remove,
}

/// Works with the git repository of the workspace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitArgs {
    /// `status`; `log`; `branch` lists, with `name` creates; `checkout`; `diff`; `stash` lists, with `message` or
    /// `include_untracked` creates; `remote` lists; `worktree`.
    command: Operation,
    /// For `worktree`; `list` when left out.
    #[serde(default)]
    subcommand: Option<Subcommand>,
    /// Branch to create, for `branch`; branch of the new worktree, for `worktree` with `create`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    name: Option<String>,
    /// Folder of the worktree, in the workspace or beside it, relative to the workspace.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Branch, tag or commit to switch to, for `checkout`.
    #[serde(default, rename = "ref")]
    #[schemars(length(min = 1, max = 1024))]
    reference: Option<String>,
    /// Throws local changes away, for `checkout` and `worktree` with `remove`.
    #[serde(default)]
    force: Option<bool>,
    /// Compares the files with this branch, tag or commit instead of the index, for `diff`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    target: Option<String>,
    /// Entries of a page, 1 to 200; 10 for `log` and 50 for lists when left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Deprecated: the same as `limit`, for `log`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    max_count: Option<usize>,
    /// Where to go on: the cursor of the page before.
    #[serde(default)]
    cursor: Option<String>,
    /// Where a diff goes on: `range.next_byte_offset` of the page before.
    #[serde(default)]
    byte_offset: Option<usize>,
    /// Bytes of a page of a diff, 256 to 102400; 65536 when left out.
    #[serde(default)]
    #[schemars(range(min = 256, max = 102_400))]
    max_bytes: Option<usize>,
    /// Message of the stash to create.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    message: Option<String>,
    /// Takes files that are not tracked into the stash too.
    #[serde(default)]
    include_untracked: Option<bool>,
    /// Reserved, for `remote`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    remote_name: Option<String>,
    /// Whether the worktree gets a new branch; true when left out.
    #[serde(default)]
    new_branch: Option<bool>,
    /// Where a new branch begins; `HEAD` when left out.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    base: Option<String>,
}

impl GitArgs {
    fn subcommand(&self) -> Subcommand {
        self.subcommand.unwrap_or_default()
    }

    fn force(&self) -> bool {
        self.force == Some(true)
    }

    fn base(&self) -> &str {
        self.base.as_deref().unwrap_or("HEAD")
    }

    fn creates_stash(&self) -> bool {
        self.message.is_some() || self.include_untracked == Some(true)
    }

    fn cursor(&self) -> Option<&str> {
        self.cursor
            .as_deref()
            .map(str::trim)
            .filter(|cursor| !cursor.is_empty())
    }

    /// Whether nothing is changed.
    fn reads(&self) -> bool {
        match self.command {
            Operation::Status | Operation::Log | Operation::Diff | Operation::Remote => true,
            Operation::Branch => self.name.is_none(),
            Operation::Checkout => false,
            Operation::Stash => !self.creates_stash(),
            Operation::Worktree => self.subcommand() == Subcommand::List,
        }
    }

    /// Refuses what the operation would ignore and that asks for something else than it does. What only repeats
    /// a default may be there.
    fn refuse_strays(&self) -> Result<(), ToolError> {
        use Operation::{Branch, Checkout, Diff, Log, Remote, Stash, Status, Worktree};
        let command = self.command;
        let creates_worktree = command == Worktree && self.subcommand() == Subcommand::Create;
        let removes_worktree = command == Worktree && self.subcommand() == Subcommand::Remove;
        let creates = creates_worktree || (command == Branch && self.name.is_some());
        let strays = [
            (
                "subcommand",
                self.subcommand() != Subcommand::List,
                command == Worktree,
            ),
            (
                "name",
                self.name.is_some(),
                command == Branch || creates_worktree,
            ),
            (
                "path",
                self.path.is_some(),
                creates_worktree || removes_worktree,
            ),
            ("ref", self.reference.is_some(), command == Checkout),
            (
                "force",
                self.force(),
                command == Checkout || removes_worktree,
            ),
            ("target", self.target.is_some(), command == Diff),
            (
                "cursor",
                self.cursor().is_some(),
                self.reads() && command != Status,
            ),
            ("max_count", self.max_count.is_some(), command == Log),
            (
                "byte_offset",
                self.byte_offset.is_some_and(|at| at > 0),
                command == Diff,
            ),
            ("remote_name", self.remote_name.is_some(), command == Remote),
            ("message", self.message.is_some(), command == Stash),
            (
                "include_untracked",
                self.include_untracked == Some(true),
                command == Stash,
            ),
            (
                "new_branch",
                self.new_branch == Some(false),
                creates_worktree,
            ),
            ("base", self.base() != "HEAD", creates),
        ];
        for (argument, given, taken) in strays {
            if given && !taken {
                let message = format!("`{argument}` does not go with this operation of git.");
                return Err(ToolError::invalid(argument, message));
            }
        }
        Ok(())
    }
}

/// Why an operation ended early: an error with a kind, or what git said.
enum Stop {
    Error(ToolError),
    Output(ToolOutput),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

fn not_a_repository() -> ToolError {
    let message = "The workspace is not a git repository.";
    let kind = ToolErrorKind::Unsupported {
        message: message.to_owned(),
    };
    ToolError::new(kind, message)
}

fn missing(argument: &str, operation: &str) -> ToolError {
    ToolError::invalid(argument, format!("{operation} needs `{argument}`."))
}

/// The `git` tool.
pub(crate) struct GitTool;

#[async_trait]
impl Tool for GitTool {
    fn name(&self) -> &str {
        "git"
    }

    fn description(&self) -> &str {
        "Works with the git repository of the workspace: status, log, diff, lists of branches, stashes, remotes and \
         worktrees, page by page; creates branches (without switching), switches with checkout, stashes, and makes and \
         removes worktrees. No remote is reached, and no hook, filter or other program of the repository's \
         configuration runs."
    }

    fn parameters(&self) -> Value {
        schema::of::<GitArgs>()
    }

    fn capabilities(&self, args: &Value) -> ToolCapabilities {
        match GitArgs::deserialize(args) {
            Ok(args) if args.reads() => ToolCapabilities {
                resumable: true,
                supports_pagination: args.command != Operation::Status,
                output_kind: match args.command {
                    Operation::Diff => OutputKind::Diff,
                    _ => OutputKind::Text,
                },
                ..ToolCapabilities::parallel_safe_read(8)
            },
            _ => ToolCapabilities::default(),
        }
    }

    fn permission_subjects(&self, args: &Value) -> Option<Vec<String>> {
        let word = |key: &str| args[key].as_str();
        let mut words = vec![word("command").unwrap_or_default()];
        let given = ["subcommand", "name", "path", "ref", "target", "base"];
        words.extend(given.into_iter().filter_map(word));
        if args["force"] == true {
            words.push("--force");
        }
        if word("command") == Some("stash")
            && (args["message"].is_string() || args["include_untracked"] == true)
        {
            words.push("create");
        }
        Some(vec![words.join(" ")])
    }

    fn paths(&self, args: &Value) -> Vec<PathUse> {
        if !matches!(args["subcommand"].as_str(), Some("create" | "remove")) {
            return Vec::new();
        }
        // Without a path a worktree lies beside the workspace.
        let path = args["path"].as_str().unwrap_or("..").to_owned();
        vec![PathUse { path, write: true }]
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let args: GitArgs = call.parse()?;
        match operate(&call, &args).await {
            Ok(output) | Err(Stop::Output(output)) => Ok(output),
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

async fn operate(call: &ToolCall, args: &GitArgs) -> Result<ToolOutput, Stop> {
    args.refuse_strays()?;
    changes::check(args)?;
    let site = Site::find(call).await?;
    let site = &site;
    if !args.reads() {
        site.may_change()?;
    }
    match args.command {
        Operation::Status => status::status(call, site).await,
        Operation::Log => log::log(call, site, args).await,
        Operation::Diff => diff::diff(call, site, args).await,
        Operation::Remote => lists::remotes(call, site, args).await,
        Operation::Branch => match &args.name {
            None => lists::branches(call, site, args).await,
            Some(name) => changes::create_branch(call, site, name, args.base()).await,
        },
        Operation::Checkout => changes::checkout(call, site, args).await,
        Operation::Stash if args.creates_stash() => changes::create_stash(call, site, args).await,
        Operation::Stash => lists::stashes(call, site, args).await,
        Operation::Worktree => match args.subcommand() {
            Subcommand::List => lists::worktrees(call, site, args).await,
            Subcommand::Create => changes::create_worktree(call, site, args).await,
            Subcommand::Remove => changes::remove_worktree(call, site, args).await,
        },
    }
}

/// As much of a text as fits, on a character boundary.
fn shortened(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)]).into()
}

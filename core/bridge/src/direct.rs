//! The typed helpers of a session: each is one call of one tool with the arguments that its name says.

use crate::dispatch::{Request, Work, failed, no_such, text_answer, tool_answer};
use crate::operation::Reply;
use a3s_code_contract::{ErrorPayload, GitOptions, ReadFileOptions, ToolResult};
use a3s_code_core::{AgentSession, CallOptions, CodeError};
use serde_json::{Map, Value, json};

/// Starts a helper, by the name of its method.
pub(crate) fn start(method: &str, mut request: Request) -> Result<Work, ErrorPayload> {
    let work = match method {
        "session.readFile" => {
            let path: String = request.take("path")?;
            let lines: ReadFileOptions = request.take_optional("options")?.unwrap_or_default();
            text(request, move |session, options| async move {
                session.read_file_with_options(&path, lines, options).await
            })?
        }
        "session.writeFile" => {
            let path: String = request.take("path")?;
            let content = request.take_text("content")?;
            result(request, move |session, options| async move {
                session.write_file_with(&path, &content, options).await
            })?
        }
        "session.editFile" => {
            let path: String = request.take("path")?;
            let old: String = request.take("oldString")?;
            let new: String = request.take("newString")?;
            let all = request.take_optional("replaceAll")?.unwrap_or(false);
            result(request, move |session, options| async move {
                session
                    .edit_file_with(&path, &old, &new, all, options)
                    .await
            })?
        }
        "session.patchFile" => {
            let path: String = request.take("path")?;
            let diff = request.take_text("diff")?;
            result(request, move |session, options| async move {
                session.patch_file_with(&path, &diff, options).await
            })?
        }
        "session.ls" => {
            let path: Option<String> = request.take_optional("path")?;
            let args = path.map_or_else(|| json!({}), |path| json!({ "path": path }));
            result(request, move |session, options| async move {
                session.tool_with("ls", args, options).await
            })?
        }
        "session.grep" => {
            let pattern: String = request.take("pattern")?;
            text(request, move |session, options| async move {
                session.grep_with(&pattern, options).await
            })?
        }
        "session.glob" => {
            let pattern: String = request.take("pattern")?;
            let session = request.session()?;
            request.finish()?;
            let options = request.call_options();
            Box::pin(async move {
                match session.glob_with(&pattern, options).await {
                    Ok(paths) => Reply::json(&paths),
                    Err(error) => Err(failed(error)),
                }
            })
        }
        "session.bash" => {
            let command: String = request.take("command")?;
            text(request, move |session, options| async move {
                session.bash_with(&command, options).await
            })?
        }
        "session.git" => {
            let operation: GitOptions = request.take("options")?;
            let operation = git_arguments(json!(operation));
            result(request, move |session, options| async move {
                session.git_with(operation, options).await
            })?
        }
        "session.gitCommand" => {
            let operation = git_arguments(request.take("request")?);
            result(request, move |session, options| async move {
                session.git_with(operation, options).await
            })?
        }
        _ => return Err(no_such()),
    };
    Ok(work)
}

/// A helper that answers with the result of its tool.
fn result<F, Called>(request: Request, call: F) -> Result<Work, ErrorPayload>
where
    F: FnOnce(AgentSession, CallOptions) -> Called + Send + 'static,
    Called: Future<Output = Result<ToolResult, CodeError>> + Send,
{
    let session = request.session()?;
    request.finish()?;
    let options = request.call_options();
    let cancelled = request.cancellation.clone();
    Ok(Box::pin(async move {
        tool_answer(call(session, options).await, &cancelled)
    }))
}

/// A helper that answers with text.
fn text<F, Called>(request: Request, call: F) -> Result<Work, ErrorPayload>
where
    F: FnOnce(AgentSession, CallOptions) -> Called + Send + 'static,
    Called: Future<Output = Result<String, CodeError>> + Send,
{
    let session = request.session()?;
    request.finish()?;
    let options = request.call_options();
    Ok(Box::pin(async move {
        text_answer(call(session, options).await)
    }))
}

/// The arguments of the tool `git` for options by the names of the wire; what is null is left out.
fn git_arguments(options: Value) -> Value {
    match options {
        Value::Object(options) => options
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (tool_name(&name), value))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

/// `newBranch` is `new_branch` where a tool takes it.
fn tool_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 1);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_git_become_the_arguments_of_its_tool() {
        let options: GitOptions = serde_json::from_value(
            json!({ "command": "log", "maxCount": 3, "newBranch": false, "ref": "main", "byteOffset": 0 }),
        )
        .unwrap();
        let expected = json!({ "command": "log", "max_count": 3, "new_branch": false, "ref": "main", "byte_offset": 0 });
        assert_eq!(git_arguments(json!(options)), expected);
        assert_eq!(git_arguments(expected.clone()), expected);
        let sparse = json!({ "command": "log", "limit": null });
        assert_eq!(git_arguments(sparse), json!({ "command": "log" }));
        assert!(
            serde_json::from_value::<GitOptions>(json!({ "command": "log", "depth": 1 })).is_err()
        );
    }
}

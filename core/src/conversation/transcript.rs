//! What was said, in a form that every provider takes: each call has exactly one result, in the message after it.

use a3s_code_contract::{ContentBlock, Message, Role};
use std::collections::BTreeSet;

/// Result of a call that was never carried out or never came back.
const LOST: &str = "[The call was not carried out: the run ended before it.]";

/// The messages of a conversation, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Transcript(Vec<Message>);

impl Transcript {
    /// The messages.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.0
    }

    /// Adds what the application says. Beside the results of calls it is one message with them, because two in a
    /// row of the same side are refused by some providers.
    pub(crate) fn say(&mut self, prompt: &str) {
        let block = ContentBlock::Text {
            text: prompt.to_owned(),
        };
        match self.0.last_mut() {
            Some(last) if last.role == Role::User => last.content.push(block),
            _ => self.0.push(Message {
                role: Role::User,
                content: vec![block],
                reasoning_content: None,
            }),
        }
    }

    /// Adds an answer of the model.
    pub(crate) fn answer(&mut self, message: Message) {
        self.0.push(message);
    }

    /// Adds the results of the calls of the last answer, in their order.
    pub(crate) fn results(&mut self, content: Vec<ContentBlock>) {
        self.0.push(Message {
            role: Role::User,
            content,
            reasoning_content: None,
        });
    }

    /// Gives every call of the last answer a result, and takes a prompt back that was never answered. Called when a
    /// run ends, however it ends.
    pub(crate) fn settle(&mut self, before: usize) {
        let Some(last) = self.0.last() else {
            return;
        };
        match last.role {
            Role::Assistant => {
                let lost = calls_of(last)
                    .into_iter()
                    .map(|id| ContentBlock::ToolResult {
                        tool_use_id: id,
                        content: LOST.to_owned(),
                        is_error: true,
                    })
                    .collect::<Vec<_>>();
                if !lost.is_empty() {
                    self.results(lost);
                }
            }
            Role::User if self.0.len() == before + 1 => {
                self.0.pop();
            }
            Role::User => {}
        }
    }

    /// The ids of all calls so far.
    pub(crate) fn call_ids(&self) -> BTreeSet<String> {
        self.0.iter().flat_map(calls_of).collect()
    }
}

fn calls_of(message: &Message) -> Vec<String> {
    message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolUse { id, .. } => Some(id.clone()),
            ContentBlock::Text { .. } | ContentBlock::ToolResult { .. } => None,
        })
        .collect()
}

//! Nested calls: what a tool may start while it runs.
//!
//! An extension gets an [`InvocationRuntime`], whose calls are always governed on their own and which dies
//! with its call. Only built-in orchestrators get a [`BuiltinInvoker`], which keeps the authority of the
//! application when the application called the orchestrator directly. Neither reaches the tools themselves:
//!
//! ```compile_fail
//! // claims: ORIG-30
//! fn raw(runtime: &a3s_code_core::tools::InvocationRuntime) {
//!     let _ = runtime.kernel;
//! }
//! ```
//! ```compile_fail
//! // claims: ORIG-30
//! let runtime = a3s_code_core::tools::InvocationRuntime {};
//! ```
//! ```compile_fail
//! // claims: ORIG-26, ORIG-30
//! fn trusted(call: &a3s_code_core::tools::ToolCall) {
//!     let _ = call.builtin_invoker();
//! }
//! ```

use super::frame::Frame;
use super::origin::Origin;
use super::surface::Surface;
use super::{Invocation, Kernel, Settled};
use crate::error::CodeError;
use crate::tools::Caller;
use a3s_code_contract::{ToolCapabilities, ToolResult};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

/// Invokes other tools from inside a tool: always governed, and only while that tool's call runs.
#[derive(Clone)]
pub struct InvocationRuntime {
    kernel: Weak<Kernel>,
    frame: Arc<Frame>,
    surface: Arc<Surface>,
    caller: Caller,
    only: Option<Arc<BTreeSet<String>>>,
}

impl InvocationRuntime {
    pub(super) fn new(
        kernel: Weak<Kernel>,
        frame: Arc<Frame>,
        surface: Arc<Surface>,
        caller: Caller,
    ) -> Self {
        let only = frame.only.clone();
        Self {
            kernel,
            frame,
            surface,
            caller,
            only,
        }
    }

    /// Calls a tool. Permission, confirmation, hooks, budget and cancellation apply to it on their own.
    ///
    /// # Errors
    /// [`CodeError::SessionClosed`] once the session or the surrounding call has ended. A refusal or a failed
    /// tool is a result.
    pub async fn invoke_tool(&self, name: &str, args: Value) -> Result<ToolResult, CodeError> {
        self.start(Origin::GOVERNED_NESTED, name, args, self.caller.clone())
            .await
            .map(|settled| settled.result)
    }

    /// The same for somebody else's answer route.
    ///
    /// # Errors
    /// As [`InvocationRuntime::invoke_tool`].
    pub async fn invoke_tool_for(
        &self,
        caller: Caller,
        name: &str,
        args: Value,
    ) -> Result<ToolResult, CodeError> {
        self.start(Origin::GOVERNED_NESTED, name, args, caller)
            .await
            .map(|settled| settled.result)
    }

    /// Names of the tools that can be called from here, sorted.
    #[must_use]
    pub fn available_tools(&self) -> Vec<String> {
        self.surface
            .iter()
            .map(|registered| registered.definition.name.clone())
            .filter(|name| self.only.as_ref().is_none_or(|only| only.contains(name)))
            .collect()
    }

    /// The same route narrowed to these tools; calls below it stay narrowed.
    #[must_use]
    pub fn restricted_to(&self, names: impl IntoIterator<Item = String>) -> Self {
        let names: BTreeSet<String> = names.into_iter().collect();
        let only = match &self.only {
            Some(before) => before.intersection(&names).cloned().collect(),
            None => names,
        };
        Self {
            only: Some(Arc::new(only)),
            ..self.clone()
        }
    }

    async fn start(
        &self,
        origin: Origin,
        name: &str,
        args: Value,
        caller: Caller,
    ) -> Result<Settled, CodeError> {
        let kernel = self.kernel.upgrade().ok_or_else(|| self.ended())?;
        if self.frame.ended() {
            return Err(self.ended());
        }
        kernel
            .invoke(Invocation {
                id: None,
                run: None,
                fault: None,
                name: name.to_owned(),
                args: Arc::new(args),
                origin,
                parent: Some(Arc::clone(&self.frame)),
                scope: self.frame.scope.clone(),
                surface: Arc::clone(&self.surface),
                only: self.only.clone(),
                caller,
                value_wanted: false,
            })
            .await
    }

    fn ended(&self) -> CodeError {
        CodeError::SessionClosed {
            session_id: format!("the call of `{}`", self.frame.tool),
        }
    }
}

/// The route of built-in orchestrators: children keep the authority of a direct call of the application.
pub(crate) struct BuiltinInvoker(InvocationRuntime);

impl BuiltinInvoker {
    pub(crate) fn new(runtime: InvocationRuntime) -> Self {
        Self(runtime)
    }

    /// Calls a child: trusted when the application called the orchestrator directly, governed otherwise.
    pub(crate) async fn invoke(&self, name: &str, args: Value) -> Result<Settled, CodeError> {
        let origin = if self.0.frame.trusted {
            Origin::TRUSTED_HOST_DIRECT_NESTED
        } else {
            Origin::GOVERNED_NESTED
        };
        self.0
            .start(origin, name, args, self.0.caller.clone())
            .await
    }

    /// What a child would promise for these arguments; nothing when there is no such tool.
    pub(crate) fn capabilities(&self, name: &str, args: &Value) -> Option<ToolCapabilities> {
        self.0
            .surface
            .resolve(name)
            .map(|registered| registered.tool.capabilities(args))
    }

    /// Starts the runtime's own engine for a call that was already decided.
    #[cfg_attr(not(test), allow(dead_code, reason = "workflows build on it"))]
    pub(crate) async fn invoke_engine(
        &self,
        name: &str,
        args: Value,
    ) -> Result<Settled, CodeError> {
        self.0
            .start(Origin::RUNTIME_INTERNAL, name, args, self.0.caller.clone())
            .await
    }
}

//! The moments at which hooks run: one table, the same words in every language.

macro_rules! points {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal;)*) => {
        /// A moment that hooks can be registered for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum HookPoint {
            $($(#[doc = $doc])* $name,)*
        }

        impl HookPoint {
            /// Every point.
            pub const ALL: &'static [HookPoint] = &[$(HookPoint::$name),*];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(HookPoint::$name => $text),* }
            }

            /// The point with this text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(HookPoint::$name),)* _ => None }
            }
        }
    };
}

points! {
    #[doc = "Before a tool runs; can refuse it or replace its arguments."] PreToolUse = "pre_tool_use";
    #[doc = "After a tool has run."] PostToolUse = "post_tool_use";
    #[doc = "Before a person is asked about a call."] PermissionRequest = "permission_request";
    #[doc = "Before the conversation is shortened."] PreCompact = "pre_compact";
    #[doc = "After the conversation was shortened."] PostCompact = "post_compact";
    #[doc = "A request goes to the model."] GenerateStart = "generate_start";
    #[doc = "The model has answered."] GenerateEnd = "generate_end";
    #[doc = "A session was opened."] SessionStart = "session_start";
    #[doc = "A session was closed."] SessionEnd = "session_end";
    #[doc = "A skill was loaded."] SkillLoad = "skill_load";
    #[doc = "A skill was unloaded."] SkillUnload = "skill_unload";
    #[doc = "Before a prompt is taken."] PrePrompt = "pre_prompt";
    #[doc = "A response is complete."] PostResponse = "post_response";
    #[doc = "Something failed."] OnError = "on_error";
    #[doc = "Before context is gathered."] PreContextPerception = "pre_context_perception";
    #[doc = "After context was gathered."] PostContextPerception = "post_context_perception";
    #[doc = "A run ended well."] OnSuccess = "on_success";
    #[doc = "Before memories are looked up."] PreMemoryRecall = "pre_memory_recall";
    #[doc = "After memories were looked up."] PostMemoryRecall = "post_memory_recall";
    #[doc = "Before a plan is made."] PrePlanning = "pre_planning";
    #[doc = "After a plan was made."] PostPlanning = "post_planning";
    #[doc = "Before the model reasons."] PreReasoning = "pre_reasoning";
    #[doc = "After the model reasoned."] PostReasoning = "post_reasoning";
    #[doc = "A provider limits the rate."] OnRateLimit = "on_rate_limit";
    #[doc = "A person was asked."] OnConfirmation = "on_confirmation";
    #[doc = "The purpose of a prompt was found."] IntentDetection = "intent_detection";
    #[doc = "Before a run is steered or interrupted."] PreRunControl = "pre_run_control";
    #[doc = "After a run was steered or interrupted."] PostRunControl = "post_run_control";
}

impl HookPoint {
    /// Whether a hook at this point can refuse what follows.
    #[must_use]
    pub fn is_gating(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PermissionRequest
                | Self::PreCompact
                | Self::PrePrompt
                | Self::PrePlanning
                | Self::PreRunControl
        )
    }
}

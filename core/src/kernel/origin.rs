//! Who asked for a call, and which gates that lets it skip.
//!
//! An [`Origin`] can only be made inside the kernel: there is no public constructor, so authority can be
//! neither made nor kept by an extension.
//!
//! ```compile_fail
//! // claims: ORIG-26
//! let origin = a3s_code_core::kernel::Origin::TRUSTED_HOST_DIRECT_NESTED;
//! ```
//! ```compile_fail
//! // claims: ORIG-26
//! use a3s_code_core::kernel::OriginKind;
//! ```

/// Who asked for a call. Reported by hooks and events as one fixed string each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin(OriginKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OriginKind {
    Agent,
    GovernedNested,
    RuntimeInternal,
    HostDirect,
    TrustedHostDirectNested,
}

impl Origin {
    /// A call chosen by a model, or by the application in a model's stead.
    pub(crate) const AGENT: Self = Self(OriginKind::Agent);
    /// A call made from inside another one, governed on its own.
    pub(crate) const GOVERNED_NESTED: Self = Self(OriginKind::GovernedNested);
    /// The runtime starting its own engine for a call that was already decided.
    pub(crate) const RUNTIME_INTERNAL: Self = Self(OriginKind::RuntimeInternal);
    /// A call chosen by the application.
    pub(crate) const HOST_DIRECT: Self = Self(OriginKind::HostDirect);
    /// A child that the application chose through a built-in orchestrator.
    pub(crate) const TRUSTED_HOST_DIRECT_NESTED: Self = Self(OriginKind::TrustedHostDirectNested);

    /// All five.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] = [
        Self::AGENT,
        Self::GOVERNED_NESTED,
        Self::RUNTIME_INTERNAL,
        Self::HOST_DIRECT,
        Self::TRUSTED_HOST_DIRECT_NESTED,
    ];

    /// The fixed string.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self.0 {
            OriginKind::Agent => "agent",
            OriginKind::GovernedNested => "governed_nested",
            OriginKind::RuntimeInternal => "runtime_internal",
            OriginKind::HostDirect => "host_direct",
            OriginKind::TrustedHostDirectNested => "trusted_host_direct_nested",
        }
    }

    /// Prefix of the ids of its calls.
    pub(crate) fn id_prefix(self) -> &'static str {
        match self.0 {
            OriginKind::Agent => "call",
            OriginKind::GovernedNested | OriginKind::TrustedHostDirectNested => "nested",
            OriginKind::RuntimeInternal => "runtime-internal",
            OriginKind::HostDirect => "host",
        }
    }

    /// The gates it skips. Everything not named here applies to it.
    pub(crate) fn skipped_gates(self) -> &'static [Gate] {
        match self.0 {
            OriginKind::Agent | OriginKind::GovernedNested => &[],
            // The decision given to the outer call is reused; nothing else is skipped.
            OriginKind::RuntimeInternal => {
                &[Gate::ControlFiles, Gate::Permission, Gate::Confirmation]
            }
            // The application chose the call, or chose it through a built-in orchestrator.
            OriginKind::HostDirect | OriginKind::TrustedHostDirectNested => &[
                Gate::ControlFiles,
                Gate::Skills,
                Gate::Permission,
                Gate::Confirmation,
            ],
        }
    }

    /// Whether a gate stands before its calls.
    pub(crate) fn passes_through(self, gate: Gate) -> bool {
        !self.skipped_gates().contains(&gate)
    }
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The gates that some origins skip. All other stages of the pipeline apply to every origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// `.git`, `.a3s` and `.a3s-code` are off limits for file calls.
    ControlFiles,
    /// An active skill restricts the tools.
    Skills,
    /// Permission policy.
    Permission,
    /// A person answers.
    Confirmation,
}

impl Gate {
    /// All of them, in the order they are passed.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [
        Self::ControlFiles,
        Self::Skills,
        Self::Permission,
        Self::Confirmation,
    ];
}

//! JSON Schemas of every named type, for the generators.

use crate::*;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every named type of the contract with its JSON Schema; references are `#/$defs/Name`.
#[must_use]
pub fn definitions() -> BTreeMap<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    macro_rules! add {
        ($($name:ident),* $(,)?) => { $( let _ = generator.subschema_for::<$name>(); )* };
    }
    add!(
        ActiveTool,
        AgentConfig,
        ArtifactStoreLimits,
        ConfirmationPolicy,
        ErrorCode,
        ErrorPayload,
        EventEnvelope,
        EventMetadata,
        GitOptions,
        HostCallInput,
        HostReply,
        HostToolSpec,
        LossMode,
        MemoryFile,
        OpenedAgent,
        OpenedSession,
        OutputKind,
        PermissionDecision,
        PermissionPolicy,
        PermissionRule,
        PresentationMode,
        QueueLimits,
        ReadFileOptions,
        SandboxMode,
        SandboxSettings,
        SdkCapability,
        SessionOptions,
        TimeoutAction,
        ToolArtifact,
        ToolCapabilities,
        ToolDefinition,
        ToolErrorKind,
        ToolPresentationProfile,
        ToolResult,
        ToolResultEvidence,
        ToolResultTransformPolicy,
        Trust,
        VerificationCheck,
        VerificationCommand,
        VerificationPreset,
        VerificationReport,
        VerificationStatus,
        VerificationSummary,
        WorkspaceBackend,
        WorkspaceCapability,
    );
    generator.take_definitions(true).into_iter().collect()
}

/// Fingerprint of the contract, 16 hex digits: compiled into each binding and compared when it loads.
#[must_use]
pub fn schema_hash() -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (name, schema) in definitions() {
        add(name.as_bytes());
        add(schema.to_string().as_bytes());
    }
    for method in METHODS {
        add(format!("{method:?}").as_bytes());
    }
    format!("{hash:016x}")
}

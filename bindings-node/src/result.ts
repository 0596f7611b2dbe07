// Results as an application sees them.

import type { ToolErrorKind, ToolResultEvidence, Trust, WireToolArtifact, WireToolResult } from './generated/types.js';

/** Result of one tool call. A failed call is a result too: look at `exitCode`. */
export class ToolResult {
  /** Canonical name of the tool. */
  readonly name: string;
  /** Text after projection. */
  readonly output: string;
  /** 0 on success, another value when the tool failed. */
  readonly exitCode: number;
  /** Facts about the result, always with `a3s_tool_result_evidence`. */
  readonly metadata: Record<string, any> | undefined;
  /** How it failed, told apart by `type`; tolerate types you do not know. */
  readonly errorKind: ToolErrorKind | undefined;
  /** How far the text may be trusted. */
  readonly trust: Trust;
  /** What a handler of the application threw, when that made the call fail. */
  declare readonly cause?: unknown;

  /** @internal */
  constructor(wire: Omit<WireToolResult, 'output'>, output: string) {
    this.name = wire.name;
    this.output = output;
    this.exitCode = wire.exitCode;
    this.metadata = (wire.metadata as Record<string, any> | null | undefined) ?? undefined;
    this.errorKind = wire.errorKind ?? undefined;
    this.trust = wire.trust ?? 'workspace_data';
  }

  /** What the result says of its own text: `metadata.a3s_tool_result_evidence`. Every result has it. */
  get evidence(): ToolResultEvidence {
    return this.metadata?.['a3s_tool_result_evidence'] as ToolResultEvidence;
  }

  /** `metadata` as JSON text. */
  get metadataJson(): string | undefined {
    return this.metadata === undefined ? undefined : JSON.stringify(this.metadata);
  }

  /** `errorKind` as JSON text. */
  get errorKindJson(): string | undefined {
    return this.errorKind === undefined ? undefined : JSON.stringify(this.errorKind);
  }
}

/** The complete original of a result that was cut. */
export interface ToolArtifact extends WireToolArtifact {
  /** The exact bytes. */
  bytes: Buffer;
}

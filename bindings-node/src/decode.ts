// What a completion becomes. One decoder for each way a result travels.

import type { NativeMessage } from '#native';
import type { WireToolArtifact, WireToolResult } from './generated/types.js';
import { ToolResult, type ToolArtifact } from './result.js';

/** Turns a successful message into a value. */
export interface Decoder<T> {
  (message: NativeMessage): T;
  /** Whether the bytes beside the JSON are wanted as text. */
  readonly text?: boolean;
}

function ofText<T>(decode: (message: NativeMessage, text: string) => T): Decoder<T> {
  return Object.assign(
    (message: NativeMessage) =>
      decode(message, typeof message.data === 'string' ? message.data : (message.data?.toString('utf8') ?? '')),
    { text: true },
  );
}

/** A result without a value. */
export const asNothing: Decoder<void> = () => undefined;

/** A result that is text. */
export const asText: Decoder<string> = ofText((_, text) => text);

/** A result whose output travels beside it. */
export const asToolResult: Decoder<ToolResult> = ofText(
  (message, text) => new ToolResult(JSON.parse(message.payload) as WireToolResult, text),
);

/** A result that is JSON. */
export function asJson<T>(message: NativeMessage): T {
  return JSON.parse(message.payload) as T;
}

/** The exact bytes beside a message. */
export function bytesOf(message: NativeMessage): Buffer {
  return typeof message.data === 'string' ? Buffer.from(message.data) : (message.data ?? Buffer.alloc(0));
}

/** An artifact, or nothing when it is not retained. */
export function asArtifact(message: NativeMessage): ToolArtifact | null {
  const wire = JSON.parse(message.payload) as WireToolArtifact | null;
  if (wire === null) return null;
  const bytes = bytesOf(message);
  return {
    artifactId: wire.artifactId,
    artifactUri: wire.artifactUri,
    toolName: wire.toolName,
    content: bytes.toString('utf8'),
    bytes,
    originalBytes: wire.originalBytes,
    shownBytes: wire.shownBytes,
  };
}

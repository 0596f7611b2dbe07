// Tools written in JavaScript: what an application gives, and what its handler is given.

import type { ToolCapabilities } from './generated/types.js';
import type { CallOptions } from './crossing.js';
import type { ToolResult } from './result.js';

/** Something a handler holds for the time of its call: a function to call, or an object to close. */
export type OwnedResource =
  | (() => unknown)
  | { close(): unknown }
  | { dispose(): unknown }
  | Disposable
  | AsyncDisposable;

/** What a handler is given besides its arguments. */
export interface ToolContext {
  /** Aborted when the call is cancelled, has run out of time, or its session closes. */
  readonly signal: AbortSignal;
  /** When the call must have ended. */
  readonly deadline: Date;
  /** Root of the workspace. */
  readonly workspace: string;
  /** Id of the session. */
  readonly sessionId: string;
  /** Id of the call. */
  readonly callId: string;
  /** Reports a piece of the output while the call runs; without effect once it has ended. */
  progress(text: string): void;
  /**
   * Calls another tool. Always governed: permission, confirmation, hooks and budget apply.
   *
   * @throws HANDLE_CLOSED once the handler's call has ended.
   */
  invokeTool(name: string, args: object, options?: CallOptions): Promise<ToolResult>;
  /** Releases `resource` when the call ends, however it ends; the latest first. Returns it. */
  own<R extends OwnedResource>(resource: R): R;
}

/** What a handler may return: text, or text with facts. */
export type ToolReply =
  | string
  | {
      /** The text. */
      output: string;
      /** False makes the call fail; so does an error kind, whatever this says. */
      success?: boolean;
      /** Facts about the result; whole numbers in it are within 2^53 - 1. */
      metadata?: object;
      /** How it failed, with a `type`. */
      errorKind?: { type: string; [field: string]: unknown };
    };

/** A tool of the application. */
export interface HostTool<Args = any> {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`; taken names and those reserved for built-in tools are refused (the list: docs/reference/options.md). */
  name: string;
  /** What it does, for a model. */
  description: string;
  /** JSON Schema of its arguments, which are an object. */
  parameters: object;
  /** What it promises; nothing when left out. */
  capabilities?: ToolCapabilities;
  /** Time limit of a call in milliseconds, 1 to 86,400,000; 600,000 when left out. */
  timeoutMs?: number;
  /** Does the work. What it throws makes the call fail with exit code 1. */
  handler(args: Args, ctx: ToolContext): ToolReply | Promise<ToolReply>;
}

/** Releases what a call owned, the latest first. A release that fails does not keep the others from theirs. */
export async function releaseAll(owned: OwnedResource[], failed: (error: unknown) => void): Promise<void> {
  for (let resource = owned.pop(); resource !== undefined; resource = owned.pop()) {
    try {
      await release(resource);
    } catch (error) {
      failed(error);
    }
  }
}

/** Tells whether `releaseAll` would know what to do with it. */
export function canRelease(resource: unknown): resource is OwnedResource {
  return typeof resource === 'function' || (typeof resource === 'object' && resource !== null && closerOf(resource) !== undefined);
}

function release(resource: OwnedResource): unknown {
  if (typeof resource === 'function') return resource();
  return closerOf(resource)?.call(resource);
}

function closerOf(resource: object): (() => unknown) | undefined {
  const keys: PropertyKey[] = [Symbol.asyncDispose, Symbol.dispose, 'close', 'dispose'];
  for (const key of keys) {
    const closer = key === undefined ? undefined : (resource as Record<PropertyKey, unknown>)[key];
    if (typeof closer === 'function') return closer as () => unknown;
  }
  return undefined;
}

// For tests and measurements: a runtime with debug methods and tools, and counts of what lives.
// Not for production: the debug runtime offers `debug_noop`, `debug_wait` and `debug_panic` in every session.

import native from '#native';
import { openAgent, type Agent, type AgentSource } from './agent.js';
import { Client } from './client.js';
import { asNothing, bytesOf, type Decoder } from './decode.js';
import type { ErrorCode } from './generated/types.js';

/** Objects of the library that are alive in this process. */
export interface Counts {
  runtimes: number;
  mailboxes: number;
  agents: number;
  sessions: number;
  operations: number;
  hostCalls: number;
}

/** Counts the live objects of the process. */
export function debugCounts(): Counts {
  return JSON.parse(native.debugCounts()) as Counts;
}

/** Version, ABI, target and schema hash of the native half. */
export function buildInfo(): Record<string, unknown> {
  return JSON.parse(native.buildInfo()) as Record<string, unknown>;
}

/** A debug runtime of this environment. */
export class DebugRuntime {
  readonly #client = Client.debug();

  /** Opens an agent whose sessions have the debug tools. */
  agent(source?: AgentSource): Promise<Agent> {
    return openAgent(this.#client, source);
  }

  /** Fails with `code`. */
  fail(code: ErrorCode): Promise<void> {
    return this.#call('debug.fail', { code }, asNothing);
  }

  /** Panics inside the library: when entering it, or in a task of its runtime. */
  panic(place: 'entry' | 'task'): Promise<void> {
    return this.#call('debug.panic', { place }, asNothing);
  }

  /** Sends a value and bytes and gives back what returned. */
  echo(value: unknown, bytes?: Uint8Array): Promise<{ value: unknown; text: string; bytes: Buffer }> {
    const decode: Decoder<{ value: unknown; text: string; bytes: Buffer }> = (message) => ({
      value: JSON.parse(message.payload),
      text: message.payload,
      bytes: bytesOf(message),
    });
    return this.#call('debug.echo', { value }, decode, bytes === undefined ? undefined : Buffer.from(bytes));
  }

  /** Sends the JSON text of a value as it stands. */
  echoText(json: string): Promise<string> {
    return this.#client.call({
      target: this.#client.runtime,
      method: 'debug.echo',
      args: {},
      json: `{"value":${json}}`,
      decode: (message) => message.payload,
    });
  }

  #call<T>(method: string, args: object, decode: Decoder<T>, data?: Buffer): Promise<T> {
    return this.#client.call({ target: this.#client.runtime, method, args, decode, data });
  }
}

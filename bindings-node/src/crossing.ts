// An object that lives on the other side: how its methods cross. The generated stubs stand on this.

import type { Beside, Client } from './client.js';
import type { Decoder } from './decode.js';
import { invalid, isPlain, unknownKey } from './wire.js';

/** Options of one call that can wait. */
export interface CallOptions {
  /** Cancels the call; it then rejects with `signal.reason`. Null is as good as none. */
  signal?: AbortSignal | null | undefined;
}

/**
 * The signal of a call, when one was given.
 *
 * @throws INVALID_ARGUMENT for options that are none, a key nobody knows, or a signal that is none.
 */
export function signalOf(options: CallOptions | null | undefined): AbortSignal | undefined {
  if (options === undefined || options === null) return undefined;
  if (typeof options !== 'object') throw invalid('`options` is not an object', 'options');
  if (isSignal(options)) throw invalid('`options` is an AbortSignal itself; give it as `{ signal }`', 'options');
  const unknown = isPlain(options) ? unknownKey(options, ['signal']) : undefined;
  if (unknown !== undefined) throw invalid(`\`options\` has ${unknown.text}`, `options.${unknown.key}`);
  const signal = options.signal ?? undefined;
  if (signal !== undefined && !isSignal(signal)) throw invalid('`options.signal` is not an AbortSignal', 'options.signal');
  return signal;
}

/** Why a signal was aborted; what the platform says where it holds no reason. */
export function reasonOf(signal: AbortSignal): unknown {
  return signal.reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : signal.reason;
}

function isSignal(value: unknown): value is AbortSignal {
  return (
    typeof value === 'object' &&
    value !== null &&
    'aborted' in value &&
    typeof (value as { addEventListener?: unknown }).addEventListener === 'function'
  );
}

/** Base of `Agent` and `Session`. */
export abstract class Crossing {
  /** @internal */
  readonly client: Client;
  /** @internal */
  readonly handle: number;

  /** @internal */
  protected constructor(client: Client, handle: number) {
    this.client = client;
    this.handle = handle;
    Object.defineProperty(this, 'client', { enumerable: false });
    Object.defineProperty(this, 'handle', { enumerable: false });
    client.track(this, handle);
  }

  /** @internal */
  protected invoke<T>(method: string, args: object, decode: Decoder<T>, options?: CallOptions, beside?: Beside): Promise<T> {
    return this.client.call({ target: this.handle, method, args, decode, owner: this, options, beside });
  }

  /** @internal */
  protected immediate(method: string, args: object): unknown {
    return this.client.immediate(this.handle, method, args);
  }
}

// An object that lives on the other side: how its methods cross. The generated stubs stand on this.

import type { Client } from './client.js';
import type { Decoder } from './decode.js';

/** Options of one call that can wait. */
export interface CallOptions {
  /** Cancels the call; it then rejects with `signal.reason`. */
  signal?: AbortSignal;
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
  protected invoke<T>(method: string, args: object, decode: Decoder<T>, options?: CallOptions): Promise<T> {
    return this.client.call({ target: this.handle, method, args, decode, owner: this, signal: options?.signal });
  }

  /** @internal */
  protected immediate(method: string, args: object): unknown {
    return this.client.immediate(this.handle, method, args);
  }
}

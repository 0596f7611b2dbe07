// The client of one Node environment: its pending operations and the pump of its mailbox.
//
// Invariants: an operation is settled exactly once and leaves the map with its one completion, also when it
// was cancelled; nothing that runs from the wake function throws; the process stays alive exactly while
// operations or handlers are running, and by a timer, because the wake function is weak.

import { AsyncResource } from 'node:async_hooks';
import native from '#native';
import type { NativeMessage } from '#native';
import { reasonOf, signalOf, type CallOptions } from './crossing.js';
import { asJson, type Decoder } from './decode.js';
import { HandleClosedError, InternalError } from './generated/errors.js';
import { HostCalls, type HandlerOwner } from './host-calls.js';
import { encode, errorOf, messageOf, utf8 } from './wire.js';

const COMPLETION = 1;
const HOST_CALL = 2;
const HOST_CANCEL = 3;
const CLOSED = 5;

/** Messages taken in one go, and how long that may take, before others get a turn. */
const BATCH = 64;
const BATCH_MS = 4;
/** How long answers may come inline, in a row, before timers and input get a turn. */
const INLINE_MS = 4;
/** Longest delay of a timer. The timer does nothing; it only keeps the process alive. */
const FOREVER_MS = 2 ** 31 - 1;

/** A text that travels beside the JSON, and what it is called. */
export interface Beside {
  name: string;
  text: string;
}

/** One call to make. */
export interface Request<T> {
  target: number;
  method: string;
  args: object;
  decode: Decoder<T>;
  /** Session it acts in, where that is not the target. */
  session?: number;
  /** Kept alive until the call has ended. */
  owner?: object | undefined;
  /** As the caller gave them. */
  options?: CallOptions | null | undefined;
  data?: Buffer | undefined;
  /** The argument that travels as `data`. */
  beside?: Beside | undefined;
  /** The arguments as JSON text, in place of `args`. */
  json?: string;
  /** Gives back what a call brought after its caller had stopped waiting. */
  abandon?: ((value: T) => void) | undefined;
}

/** A call that has not ended. */
export interface Operation {
  readonly session: number;
  readonly args: object;
  /** Where the call was made: handlers it causes run there. */
  readonly scope: AsyncResource;
  /** Whether its own tool was asked for already. */
  asked: boolean;
  /** What handlers threw, by the message that the library was given. */
  readonly thrown: Map<string, unknown>;
  settle(message: NativeMessage): void;
}

/** See the file's beginning. */
export class Client {
  static #shared: Client | undefined;

  /** Handle of the runtime. */
  readonly runtime: number;
  readonly #mailbox: number;
  readonly #operations = new Map<number, Operation>();
  readonly #hostCalls: HostCalls;
  readonly #alive = setInterval(() => {}, FOREVER_MS).unref();
  readonly #finalizers = new FinalizationRegistry<number>((handle) => {
    this.#hostCalls.forget(handle);
    native.release(this.#mailbox, handle);
  });
  #closed = false;
  #inlineSince: number | undefined;

  private constructor(debug: boolean) {
    const opened = native.openClient(debug, () => this.#drain());
    if ('status' in opened) throw errorOf(opened.payload);
    this.runtime = opened.runtime;
    this.#mailbox = opened.mailbox;
    this.#hostCalls = new HostCalls(this, this.#operations, () => this.#keepAlive());
  }

  /** The client of this environment, opened at first use. */
  static shared(): Client {
    return (this.#shared ??= new Client(false));
  }

  /** A client whose runtime has the debug methods and tools. */
  static debug(): Client {
    return new Client(true);
  }

  /** Releases `handle` when `object` is gone. */
  track(object: object, handle: number): void {
    native.hold(this.#mailbox, handle);
    this.#finalizers.register(object, handle);
  }

  /** Makes the handlers of a session findable by its handle. */
  serve(owner: HandlerOwner): void {
    this.#hostCalls.serve(owner);
  }

  /** Calls a method that never waits. */
  immediate(target: number, method: string, args: object): unknown {
    const reply = native.call(target, 0, method, encode(args), undefined, false);
    if (typeof reply === 'number') throw unexpected(method);
    if (reply.status !== 0) throw errorOf(reply.payload);
    return asJson(reply);
  }

  /** Calls a method. Never throws: every failure is a rejection. */
  call<T>(request: Request<T>): Promise<T> {
    const { decode } = request;
    let reply: number | NativeMessage;
    let signal: AbortSignal | undefined;
    try {
      signal = signalOf(request.options);
      if (signal?.aborted === true) return Promise.reject(reasonOf(signal));
      if (this.#closed) throw closed();
      const json = request.json ?? encode(request.args);
      const data = request.beside === undefined ? request.data : utf8(request.beside.text, request.beside.name);
      reply = native.call(request.target, this.#mailbox, request.method, json, data, decode.text === true);
    } catch (error) {
      return Promise.reject(error);
    }
    if (typeof reply === 'number') return this.#pending(reply, request, signal);
    return this.#inline(reply, decode);
  }

  #inline<T>(reply: NativeMessage, decode: Decoder<T>): Promise<T> {
    let answer: Promise<T>;
    try {
      answer = reply.status === 0 ? Promise.resolve(decode(reply)) : Promise.reject(errorOf(reply.payload));
    } catch (error) {
      answer = Promise.reject(unreadable(error));
    }
    const now = performance.now();
    if (this.#inlineSince === undefined) {
      // Fires as soon as the loop turns by itself; a tight chain of awaits keeps it from turning.
      this.#inlineSince = now;
      setImmediate(() => (this.#inlineSince = undefined));
    } else if (now - this.#inlineSince > INLINE_MS) {
      const given = answer;
      given.catch(() => {});
      return new Promise((resolve) => setImmediate(() => resolve(given)));
    }
    return answer;
  }

  #pending<T>(op: number, request: Request<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { decode, abandon } = request;
      let waiting = true;
      const abort = () => {
        if (!waiting) return;
        waiting = false;
        native.cancel(op);
        reject(signal === undefined ? undefined : reasonOf(signal));
      };
      const thrown = new Map<string, unknown>();
      const operation: Operation & { owner: object | undefined } = {
        session: request.session ?? request.target,
        args: request.args,
        owner: request.owner,
        scope: new AsyncResource('A3SCall', { requireManualDestroy: true }),
        asked: false,
        thrown,
        settle: (message) => {
          signal?.removeEventListener('abort', abort);
          operation.scope.emitDestroy();
          const wanted = waiting;
          waiting = false;
          try {
            if (message.status !== 0) {
              if (wanted) reject(withCause(message, thrown));
              return;
            }
            const value = decode(message);
            if (wanted) resolve(attach(value, thrown));
            else abandon?.(value);
          } catch (error) {
            reject(unreadable(error));
          }
        },
      };
      this.#operations.set(op, operation);
      this.#keepAlive();
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Holds the process while something runs. */
  #keepAlive(): void {
    if (this.#operations.size > 0 || this.#hostCalls.running > 0) this.#alive.ref();
    else this.#alive.unref();
  }

  #drain(): void {
    const end = performance.now() + BATCH_MS;
    for (let taken = 0; ; taken++) {
      if (taken === BATCH || performance.now() >= end) {
        setImmediate(() => this.#drain());
        return;
      }
      const message = native.mailboxNext(this.#mailbox);
      if (message === null) return;
      try {
        this.#dispatch(message);
      } catch (error) {
        process.emitWarning(`a message of the runtime could not be handled: ${messageOf(error)}`, 'A3SWarning');
      }
      if (message.kind === CLOSED) return;
    }
  }

  #dispatch(message: NativeMessage): void {
    switch (message.kind) {
      case COMPLETION: {
        const operation = this.#operations.get(message.id);
        this.#operations.delete(message.id);
        operation?.settle(message);
        this.#keepAlive();
        return;
      }
      case HOST_CALL:
        this.#hostCalls.begin(message);
        return;
      case HOST_CANCEL:
        this.#hostCalls.cancel(message.id);
        return;
      case CLOSED:
        this.#closed = true;
        this.#hostCalls.cancelAll();
        for (const operation of this.#operations.values()) {
          operation.settle({ ...message, status: 1, payload: JSON.stringify(CLOSED_PAYLOAD) });
        }
        this.#operations.clear();
        this.#keepAlive();
        return;
      default:
        return;
    }
  }
}

const CLOSED_PAYLOAD = { code: 'HANDLE_CLOSED', message: 'the runtime of this process was closed', retryable: false };

function closed(): Error {
  return new HandleClosedError({ code: 'HANDLE_CLOSED', message: CLOSED_PAYLOAD.message });
}

function unexpected(method: string): Error {
  return new InternalError({ code: 'INTERNAL_ERROR', message: `\`${method}\` should have answered at once` });
}

function unreadable(error: unknown): Error {
  return new InternalError({ code: 'INTERNAL_ERROR', message: `unreadable answer of the library: ${messageOf(error)}`, cause: error });
}

/** The error of a message, with the application's own error behind it where one is known. */
function withCause(message: NativeMessage, thrown: Map<string, unknown>): Error {
  if (thrown.size === 0) return errorOf(message.payload);
  const error = errorOf(message.payload);
  const text = [error.message, ...error.causes].find((candidate) => thrown.has(candidate));
  return text === undefined ? error : errorOf(message.payload, thrown.get(text));
}

/** Puts what a handler threw beside the result that it made fail. */
function attach<T>(value: T, thrown: Map<string, unknown>): T {
  if (thrown.size === 0 || typeof value !== 'object' || value === null) return value;
  const text = (value as { metadata?: { host_error?: unknown } }).metadata?.host_error;
  if (typeof text === 'string' && thrown.has(text)) {
    Object.defineProperty(value, 'cause', { value: thrown.get(text), enumerable: false });
  }
  return value;
}


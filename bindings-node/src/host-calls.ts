// Calls of the application's tools that run now.
//
// A handler runs from a promise, in the asynchronous context of the call that caused it, so that nothing it
// throws reaches the pump. It is answered at most once. When the library no longer needs it, its signal is
// aborted and what it owned is released; its answer is still sent, because it ends the wait for it.

import type { AsyncResource } from 'node:async_hooks';
import native from '#native';
import type { NativeMessage } from '#native';
import type { Client, Operation } from './client.js';
import { asToolResult } from './decode.js';
import { CancelledError, HandleClosedError, TimeoutError } from './generated/errors.js';
import type { HostCallInput } from './generated/types.js';
import { canRelease, releaseAll, type HostTool, type OwnedResource, type ToolContext, type ToolReply } from './host-tool.js';
import { encode, invalid, isPlain, messageOf, unknownKey, wellFormed } from './wire.js';

/** What a handler may return beside its text. */
const REPLY_KEYS = ['output', 'success', 'metadata', 'errorKind'];

/** A session, as far as its handlers are concerned. */
export interface HandlerOwner {
  readonly handle: number;
  readonly handlers: ReadonlyMap<number, HostTool>;
}

interface Running {
  /** Made when the handler first asks for its signal: most never do, and one is dear. */
  controller: AbortController | undefined;
  /** Why the library no longer needs the answer, once it does not. */
  reason: Error | undefined;
  readonly owned: OwnedResource[];
  /** The release of what it owned, once that has begun before its end. */
  released: Promise<void> | undefined;
  readonly deadlineMs: number;
  /** Kept alive while its handler runs. */
  readonly owner: HandlerOwner;
}

/** The running host calls of one client. */
export class HostCalls {
  readonly #client: Client;
  readonly #operations: ReadonlyMap<number, Operation>;
  readonly #changed: () => void;
  readonly #owners = new Map<number, WeakRef<HandlerOwner>>();
  readonly #running = new Map<number, Running>();

  constructor(client: Client, operations: ReadonlyMap<number, Operation>, changed: () => void) {
    this.#client = client;
    this.#operations = operations;
    this.#changed = changed;
  }

  /** How many run. */
  get running(): number {
    return this.#running.size;
  }

  /** Makes the handlers of a session findable. Weak, because handlers often refer to their session. */
  serve(owner: HandlerOwner): void {
    this.#owners.set(owner.handle, new WeakRef(owner));
  }

  /** The session is gone. */
  forget(handle: number): void {
    this.#owners.delete(handle);
  }

  /** Starts the handler that a message asks for. */
  begin(message: NativeMessage): void {
    const input = JSON.parse(message.payload) as HostCallInput;
    const owner = this.#owners.get(message.owner)?.deref();
    const tool = owner?.handlers.get(input.hostRef);
    if (owner === undefined || tool === undefined) {
      answerError(message.id, `the handler of tool \`${input.name}\` is no longer there`);
      return;
    }
    const running: Running = { controller: undefined, reason: undefined, owned: [], released: undefined, deadlineMs: input.deadlineMs, owner };
    this.#running.set(message.id, running);
    this.#changed();
    const cause = this.#causeOf(message.owner, input);
    const context = this.#context(message.id, input, running);
    const run = async () => tool.handler(input.args, context);
    inScope(cause?.scope, run).then(
      (reply) => this.#end(message.id, running, () => answer(message.id, tool.name, reply)),
      (error: unknown) =>
        this.#end(message.id, running, () => {
          const text = messageOf(error);
          cause?.thrown.set(text, error);
          answerError(message.id, text);
        }),
    );
  }

  /** The library no longer needs the answer. The handler that heeds it may still end the wait with one. */
  cancel(id: number): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const late = Date.now() >= running.deadlineMs;
    running.reason = late
      ? new TimeoutError({ code: 'TIMEOUT', message: 'the time limit of the tool call has passed' })
      : new CancelledError({ code: 'CANCELLED', message: 'the tool call was cancelled' });
    try {
      running.controller?.abort(running.reason);
    } finally {
      running.released = releaseAll(running.owned, warn);
      this.#changed();
    }
  }

  /** The mailbox is closed: nobody needs any answer. */
  cancelAll(): void {
    for (const id of [...this.#running.keys()]) this.cancel(id);
  }

  async #end(id: number, running: Running, reply: () => void): Promise<void> {
    try {
      await running.released;
      await releaseAll(running.owned, warn);
      // Also when it was called off: numbers of host calls are not used again, so a late answer hurts nobody.
      reply();
    } catch (error) {
      warn(error);
    } finally {
      if (this.#running.delete(id)) this.#changed();
    }
  }

  /**
   * The call that caused this one, as far as it can be told: of this session, for this tool with these arguments,
   * the oldest that has not asked yet; else the oldest of the session.
   */
  #causeOf(session: number, input: HostCallInput): Operation | undefined {
    let other: Operation | undefined;
    for (const operation of this.#operations.values()) {
      if (operation.session !== session) continue;
      const named = (operation.args as { name?: unknown }).name === input.name;
      if (named && !operation.asked && sameArguments(operation.args, input.args)) {
        operation.asked = true;
        return operation;
      }
      other ??= operation;
    }
    return other;
  }

  #context(id: number, input: HostCallInput, running: Running): ToolContext {
    const client = this.#client;
    const live = () => this.#running.get(id) === running;
    return {
      get signal() {
        if (running.controller === undefined) {
          running.controller = new AbortController();
          if (running.reason !== undefined) running.controller.abort(running.reason);
        }
        return running.controller.signal;
      },
      deadline: new Date(input.deadlineMs),
      workspace: input.workspace,
      sessionId: input.sessionId,
      callId: input.callId,
      progress(text) {
        if (typeof text !== 'string') throw invalid('`text` is not a string', 'text');
        if (live()) native.hostProgress(id, wellFormed(text, 'text'));
      },
      invokeTool(name, args, options) {
        if (!live()) {
          return Promise.reject(
            new HandleClosedError({ code: 'HANDLE_CLOSED', message: 'the call of this handler has ended' }),
          );
        }
        return client.call({
          target: id,
          session: running.owner.handle,
          owner: running.owner,
          method: 'hostCall.invokeTool',
          args: { name, args },
          decode: asToolResult,
          options,
        });
      },
      own(resource) {
        if (!canRelease(resource)) {
          throw invalid('`resource` is neither a function nor has it close, dispose, Symbol.dispose or Symbol.asyncDispose', 'resource');
        }
        running.owned.push(resource);
        if (!live()) void releaseAll(running.owned, warn);
        return resource;
      },
    };
  }
}

function inScope<T>(scope: AsyncResource | undefined, run: () => Promise<T>): Promise<T> {
  return scope === undefined ? run() : scope.runInAsyncScope(run);
}

function sameArguments(given: object, received: unknown): boolean {
  try {
    return JSON.stringify((given as { args?: unknown }).args) === JSON.stringify(received);
  } catch {
    return false;
  }
}

function answer(id: number, tool: string, reply: ToolReply): void {
  let text: string;
  let json = '{}';
  try {
    if (typeof reply === 'string') {
      text = wellFormed(reply, 'output');
    } else if (typeof reply === 'object' && reply !== null && typeof reply.output === 'string') {
      const unknown = isPlain(reply) ? unknownKey(reply, REPLY_KEYS) : undefined;
      if (unknown !== undefined) throw invalid(`what the handler of tool \`${tool}\` returned has ${unknown.text}`, unknown.key);
      text = wellFormed(reply.output, 'output');
      json = encode({ success: reply.success, metadata: reply.metadata, errorKind: reply.errorKind });
    } else {
      throw invalid(`the handler of tool \`${tool}\` returned neither a string nor an object with an \`output\` string`);
    }
  } catch (error) {
    answerError(id, messageOf(error));
    return;
  }
  native.hostReply(id, json, text);
}

function answerError(id: number, message: string): void {
  native.hostReply(id, JSON.stringify({ hostError: message.toWellFormed() }), '');
}

function warn(error: unknown): void {
  process.emitWarning(`what a tool owned could not be released: ${messageOf(error)}`, 'A3SWarning');
}

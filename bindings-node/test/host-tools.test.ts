// Tools written in JavaScript: every way a handler can behave.

import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { A3SError, type ToolContext } from '@a3s-lab/code';
import { debugCounts } from '@a3s-lab/code/testing';
import { debugAgent, deferred, hostTool, open, until, workspace } from './support.js';

describe('handlers', () => {
  it('may be sync or async, and return text or text with facts', async () => {
    const session = await open(
      {},
      {
        tools: [
          hostTool('sync', (args) => `sync ${args.n}`),
          hostTool('async', async (args) => `async ${args.n}`),
          hostTool('facts', () => ({ output: 'with facts', metadata: { rows: 3, nested: { a_b: [1] } } })),
          hostTool('failed', async () => ({
            output: 'no such thing',
            success: false,
            errorKind: { type: 'not_found', path: 'x' },
          })),
        ],
      },
    );
    expect(await session.tool('sync', { n: 1 })).toMatchObject({ output: 'sync 1', exitCode: 0, name: 'sync' });
    expect(await session.tool('async', { n: 2 })).toMatchObject({ output: 'async 2', exitCode: 0 });
    expect(await session.tool('facts', {})).toMatchObject({
      output: 'with facts',
      metadata: { rows: 3, nested: { a_b: [1] } },
    });
    const failed = await session.tool('failed', {});
    expect(failed.exitCode).not.toBe(0);
    expect(failed.output).toBe('no such thing');
    expect(failed.errorKind).toEqual({ type: 'not_found', path: 'x' });
  });

  it('what a handler throws is a failed result with the original error as cause', async () => {
    class Special extends Error {}
    const sync = new Special('thrown at once');
    const later = new Special('rejected later');
    const session = await open(
      {},
      {
        tools: [
          hostTool('throws', () => {
            throw sync;
          }),
          hostTool('rejects', () => Promise.reject(later)),
          hostTool('throws_text', () => {
            throw 'just text';
          }),
        ],
      },
    );
    const first = await session.tool('throws', {});
    expect(first.exitCode).toBe(1);
    expect(first.metadata!.host_error).toBe('thrown at once');
    expect(first.cause).toBe(sync);
    expect((await session.tool('rejects', {})).cause).toBe(later);
    expect((await session.tool('throws_text', {})).metadata!.host_error).toBe('just text');
  });

  it('an answer that is none is a failed result that says so', async () => {
    const answers: unknown[] = [undefined, null, 7, {}, { output: 1 }, { output: 'x', metadata: { n: 1n } }, { output: 'x', metadata: { n: NaN } }, 'cut \ud83d'];
    const session = await open({}, { tools: [hostTool('odd', (args) => answers[args.at] as string)] });
    for (let at = 0; at < answers.length; at++) {
      const result = await session.tool('odd', { at });
      expect(result.exitCode, String(at)).not.toBe(0);
      expect(result.metadata!.host_error, String(at)).toEqual(expect.any(String));
    }
    expect((await session.tool('odd', { at: 7 })).metadata!.host_error).toContain('surrogate');
  });

  it('arguments are checked against the schema before the handler runs', async () => {
    let ran = 0;
    const parameters = { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] };
    const session = await open({}, { tools: [hostTool('typed', () => `${++ran}`, { parameters })] });
    expect((await session.tool('typed', { rows: 'many' })).errorKind).toMatchObject({ type: 'invalid_argument' });
    expect((await session.tool('typed', {})).errorKind).toMatchObject({ type: 'invalid_argument' });
    expect(ran).toBe(0);
    expect((await session.tool('typed', { rows: 1 })).output).toBe('1');
  });

  it('a handler that never settles ends with its time limit and sees the signal', async () => {
    const seen = deferred<unknown>();
    const session = await open(
      {},
      {
        tools: [
          hostTool('hang', (_, ctx) => {
            ctx.signal.addEventListener('abort', () => seen.resolve(ctx.signal.reason));
            expect(ctx.deadline.getTime()).toBeLessThan(Date.now() + 1_000);
            return new Promise(() => {});
          }, { timeoutMs: 100 }),
        ],
      },
    );
    const result = await session.tool('hang', {});
    expect(result.errorKind).toMatchObject({ type: 'timeout' });
    expect(A3SError.is(await seen.promise)).toBe(true);
    await until(() => debugCounts().hostCalls === 0);
  });

  it('a handler that never settles is left behind when its call is cancelled', async () => {
    const started = deferred<ToolContext>();
    const session = await open(
      {},
      {
        tools: [
          hostTool('hang', (_, ctx) => {
            started.resolve(ctx);
            return new Promise(() => {});
          }),
        ],
      },
    );
    const controller = new AbortController();
    const call = session.tool('hang', {}, { signal: controller.signal });
    const context = await started.promise;
    controller.abort();
    await expect(call).rejects.toBe(controller.signal.reason);
    await until(() => context.signal.aborted);
    expect(A3SError.is(context.signal.reason, 'CANCELLED')).toBe(true);
    await expect(context.invokeTool('ls', {})).rejects.toMatchObject({ code: 'HANDLE_CLOSED' });
    context.progress('late, and harmless');
  });

  it('an answer that comes because of the signal ends the wait, and the call stays timed out', async () => {
    const late = hostTool('late', (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve('late'))), { timeoutMs: 100 });
    const throws = hostTool('throws', (_, ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('late')))), { timeoutMs: 100 });
    const session = await open({}, { tools: [late, throws] });
    for (const name of ['late', 'throws']) {
      const started = performance.now();
      const result = await session.tool(name, {});
      // A handler that answers nothing holds its call for another 500 ms.
      expect(performance.now() - started, name).toBeLessThan(450);
      expect(result.errorKind, name).toMatchObject({ type: 'timeout' });
    }
    await until(() => debugCounts().hostCalls === 0);
  });

  it('an error kind makes the call fail, whatever the answer says of its success', async () => {
    const session = await open(
      {},
      { tools: [hostTool('odd', () => ({ output: 'x', success: true, errorKind: { type: 'not_found', path: 'x' } }))] },
    );
    expect(await session.tool('odd', {})).toMatchObject({ exitCode: 1, errorKind: { type: 'not_found' } });
  });

  it('an answer with a key nobody knows is refused by name', async () => {
    class Reply {
      output = 'text';
      rows = 3;
    }
    const session = await open(
      {},
      {
        tools: [
          hostTool('typo', () => ({ output: 'x', metdata: {} }) as never),
          hostTool('instance', () => new Reply()),
        ],
      },
    );
    const error = (await session.tool('typo', {})).metadata!.host_error;
    expect(error).toContain('`metdata`');
    for (const known of ['output', 'success', 'metadata', 'errorKind']) expect(error).toContain(`\`${known}\``);
    expect(await session.tool('instance', {})).toMatchObject({ exitCode: 0, output: 'text' });
  });

  it('integers of metadata stay within 2^53 - 1, and minus zero is zero', async () => {
    const numbers = [2 ** 53 - 1, -(2 ** 53 - 1), -0, 0.5, 1e-7, 1e300];
    const session = await open(
      {},
      {
        tools: [
          hostTool('fits', () => ({ output: 'x', metadata: { numbers } })),
          hostTool('large', (args) => ({ output: 'x', metadata: { deep: [{ n: args.sign * 2 ** args.power }] } })),
        ],
      },
    );
    const fits = await session.tool('fits', {});
    expect(fits.metadata!.numbers).toEqual([2 ** 53 - 1, -(2 ** 53 - 1), 0, 0.5, 1e-7, 1e300]);
    // From 10^21 on JavaScript spells a number as the floating-point number that it is.
    for (const power of [53, 63, 64, 69]) {
      for (const sign of [1, -1]) {
        const large = await session.tool('large', { power, sign });
        expect(large.exitCode, `2^${power}`).toBe(1);
        expect(large.metadata!.host_error).toContain('metadata.deep[0].n');
        expect(large.metadata!.host_error).toContain('9007199254740991');
      }
    }
  });

  it('a tool may be an instance of a class', async () => {
    class Base {
      readonly description = 'counts';
      readonly parameters = { type: 'object' };
      get name(): string {
        return 'count';
      }
      handler(): string {
        return `${++this.calls}`;
      }
      calls = 0;
    }
    class Derived extends Base {
      readonly timeoutMs = 1_000;
      readonly helper = { connection: new Map() };
    }
    const session = await open({}, { tools: [new Derived()] });
    expect((await session.tool('count', {})).output).toBe('1');
    expect((await session.tool('count', {})).output).toBe('2');
    const typo = { ...hostTool('typo', () => 'x'), desciption: 'd' } as never;
    await expect(session.registerTool(typo)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(session.registerTool(typo)).rejects.toThrow('`description`');
  });

  it('progress is taken while the call runs', async () => {
    const session = await open(
      {},
      {
        tools: [
          hostTool('steps', async (_, ctx) => {
            ctx.progress('one');
            await new Promise((resolve) => setImmediate(resolve));
            ctx.progress('two');
            expect(() => ctx.progress(1 as never)).toThrow(A3SError);
            expect(() => ctx.progress('\ud800')).toThrow(A3SError);
            return 'three';
          }),
        ],
      },
    );
    expect((await session.tool('steps', {})).output).toBe('three');
  });

  it('the context names the call', async () => {
    const session = await open(
      {},
      { tools: [hostTool('who', (_, ctx) => JSON.stringify([ctx.workspace, ctx.sessionId, typeof ctx.callId]))] },
    );
    const [root, id, callId] = JSON.parse((await session.tool('who', {})).output);
    expect([root, id, callId]).toEqual([session.workspace, session.sessionId, 'string']);
  });

  it('owned resources are released when the call ends, the latest first', async () => {
    const order: string[] = [];
    const started = deferred();
    const session = await open(
      {},
      {
        tools: [
          hostTool('owner', (args, ctx) => {
            ctx.own(() => order.push('function'));
            ctx.own({ close: () => order.push('close') });
            ctx.own({ dispose: () => order.push('dispose') });
            ctx.own({ [Symbol.dispose]: () => void order.push('Symbol.dispose') });
            ctx.own({ [Symbol.asyncDispose]: async () => void order.push('Symbol.asyncDispose') });
            expect(() => ctx.own({} as never)).toThrow(A3SError);
            if (args.how === 'throw') throw new Error('no');
            if (args.how === 'hang') {
              started.resolve();
              return new Promise<string>(() => {});
            }
            return 'ok';
          }),
        ],
      },
    );
    const expected = ['Symbol.asyncDispose', 'Symbol.dispose', 'dispose', 'close', 'function'];
    await session.tool('owner', {});
    expect(order.splice(0)).toEqual(expected);
    await session.tool('owner', { how: 'throw' });
    expect(order.splice(0)).toEqual(expected);
    const controller = new AbortController();
    const call = session.tool('owner', { how: 'hang' }, { signal: controller.signal });
    await started.promise;
    controller.abort();
    await expect(call).rejects.toBeDefined();
    await until(() => order.length === expected.length);
    expect(order).toEqual(expected);
  });

  it('runs in the asynchronous context of the call that caused it', async () => {
    const storage = new AsyncLocalStorage<string>();
    const session = await open(
      {},
      {
        tools: [
          hostTool('context', async (args, ctx) => {
            await new Promise((resolve) => setImmediate(resolve));
            const own = storage.getStore();
            if (args.deep !== true) return String(own);
            const nested = await storage.run(`${own}, nested`, () => ctx.invokeTool('context', { n: args.n }));
            return nested.exitCode === 0 ? nested.output : String(own);
          }),
        ],
      },
    );
    const calls = ['a', 'b', 'c'].map((name, n) => storage.run(name, () => session.tool('context', { n })));
    expect((await Promise.all(calls)).map((result) => result.output)).toEqual(['a', 'b', 'c']);
    const equal = ['x', 'y', 'z'].map((name) => storage.run(name, () => session.tool('context', {})));
    expect((await Promise.all(equal)).map((result) => result.output).sort()).toEqual(['x', 'y', 'z']);
    expect((await session.tool('context', { n: 9 })).output).toBe('undefined');
  });
});

describe('re-entry', () => {
  it('a nested call is governed, whatever the outer call was', async () => {
    let ran = 0;
    const session = await open(
      { 'a.txt': 'inside' },
      {
        permissionPolicy: { deny: ['forbidden'], allow: ['read'], defaultDecision: 'allow' },
        tools: [
          hostTool('forbidden', () => `${++ran}`),
          hostTool('outer', async (args, ctx) => {
            const inner = await ctx.invokeTool(args.name, args.args);
            return JSON.stringify({ output: inner.output, kind: inner.errorKind?.type ?? null });
          }),
        ],
      },
    );
    const allowed = JSON.parse((await session.tool('outer', { name: 'read', args: { file_path: 'a.txt' } })).output);
    expect(allowed.kind).toBeNull();
    expect(allowed.output).toContain('inside');
    const refused = JSON.parse((await session.tool('outer', { name: 'forbidden', args: {} })).output);
    expect(refused.kind).toBe('permission_denied');
    expect(ran).toBe(0);
    expect((await session.tool('forbidden', {})).output).toBe('1');
  });

  it('a handler may call another session and its own', async () => {
    const other = await open({ 'b.txt': 'other text' });
    const session = await open(
      { 'a.txt': 'own text' },
      {
        tools: [
          hostTool('both', async () => {
            const [own, foreign] = await Promise.all([session.readFile('a.txt'), other.readFile('b.txt')]);
            return `${own}, ${foreign}, ${(await session.tool('plain', {})).output}`;
          }),
          hostTool('plain', () => 'plain'),
        ],
      },
    );
    expect((await session.tool('both', {})).output).toBe('own text, other text, plain');
  });

  it('a handler may close its own session', async () => {
    const agent = await debugAgent();
    const session = await agent.sessionAsync(await workspace(), {
      tools: [
        hostTool('suicide', async () => {
          await session.close();
          return 'closed';
        }),
      ],
    });
    const result = await session.tool('suicide', {}).catch((error: unknown) => error);
    if (result instanceof Error) expect(result).toMatchObject({ code: expect.stringMatching(/CANCELLED|SESSION_CLOSED/) });
    else expect(result).toMatchObject({ errorKind: { type: 'cancelled' } });
    expect(session.isClosed()).toBe(true);
    await until(() => debugCounts().hostCalls === 0);
  });
});

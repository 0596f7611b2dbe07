// Signals, closing, errors by code, and faults inside the library.

import { describe, expect, it } from 'vitest';
import * as code from '@a3s-lab/code';
import { A3SError, type ErrorCode } from '@a3s-lab/code';
import { debugCounts } from '@a3s-lab/code/testing';
import { debugAgent, debugRuntime, deferred, hostTool, open, until, workspace } from './support.js';

describe('signals', () => {
  it('one that is aborted already rejects before anything crosses', async () => {
    let ran = 0;
    const session = await open({}, { tools: [hostTool('count', () => `${++ran}`)] });
    const reason = new Error('before');
    await expect(session.tool('count', {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(ran).toBe(0);
    expect(debugCounts().operations).toBe(0);
  });

  it('one that is aborted during the call cancels it and rejects with its reason', async () => {
    const session = await open();
    const controller = new AbortController();
    const call = session.tool('debug_wait', { ms: 60_000 }, { signal: controller.signal });
    expect(debugCounts().operations).toBe(1);
    const reason = { any: 'value' };
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await until(() => debugCounts().operations === 0);
    expect(await session.activeTools()).toEqual([]);
  });

  it('the default reason is an AbortError, of a time limit a TimeoutError', async () => {
    const session = await open();
    const controller = new AbortController();
    const call = session.tool('debug_wait', { ms: 60_000 }, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    const late = session.tool('debug_wait', { ms: 60_000 }, { signal: AbortSignal.timeout(20) });
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('one that is aborted after the call changes nothing and keeps no listener', async () => {
    const session = await open();
    const controller = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = controller.signal;
    controller.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(controller.signal, args);
    };
    controller.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(controller.signal, args);
    };
    const result = await session.tool('debug_wait', { ms: 1 }, { signal: controller.signal });
    expect(listeners).toBe(0);
    controller.abort();
    expect(result.output).toBe('waited');
  });

  it('null is no signal, and a signal without a reason rejects as the platform does', async () => {
    const session = await open();
    expect((await session.tool('debug_noop', {}, { signal: null })).output).toBe('ok');
    expect((await session.tool('debug_noop', {}, null as never)).output).toBe('ok');
    const bare = Object.assign(new EventTarget(), { aborted: true, reason: undefined }) as AbortSignal;
    const before = await session.tool('debug_noop', {}, { signal: bare }).catch((thrown: unknown) => thrown);
    expect(before).toBeInstanceOf(DOMException);
    expect(before).toMatchObject({ name: 'AbortError' });
    const later = Object.assign(new EventTarget(), { aborted: false, reason: undefined }) as AbortSignal;
    const call = session.tool('debug_wait', { ms: 60_000 }, { signal: later });
    later.dispatchEvent(new Event('abort'));
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('a wrong option or argument is named with its bound, or with the name that was meant', async () => {
    const agent = await debugAgent();
    const root = await workspace();
    const options: Array<[object, object, string]> = [
      [{ sesionId: 'x' }, { field: 'sesionId', suggestion: 'sessionId' }, 'did you mean `sessionId`?'],
      [{ queueLimits: { maxActve: 1 } }, { field: 'queueLimits.maxActve', suggestion: 'maxActive' }, '`maxActive`'],
      [{ queueLimits: { maxActive: 'x' } }, { field: 'queueLimits.maxActive', bound: '1 to 1024' }, 'not text'],
      [{ artifactStoreLimits: { maxBytes: 2 ** 53 } }, { field: 'artifactStoreLimits.maxBytes' }, '0 to 9007199254740991'],
      [{ artifactStoreLimits: { maxBytes: 2 ** 65 } }, { field: 'artifactStoreLimits.maxBytes' }, '9007199254740991'],
      [{ sessionId: '../x' }, { field: 'sessionId' }, '1 to 128'],
      [{ tools: [{ ...hostTool('x', () => ''), desc: 'd' }] }, { field: 'tools[0].desc' }, 'is not known'],
    ];
    for (const [wrong, details, text] of options) {
      const error = await agent.sessionAsync(root, wrong as never).catch((thrown: unknown) => thrown);
      expect(error, JSON.stringify(wrong)).toMatchObject({ code: 'SESSION_CONFIGURATION_ERROR', details });
      expect((error as Error).message).toContain(text);
    }
    const session = await open({ a: 'x' });
    const calls: Array<[() => Promise<unknown>, string]> = [
      [() => session.readFile('a', { offset: -1 }), 'options.offset'],
      [() => session.readFile(5 as never), 'path'],
      [() => session.readFile('../a'), 'path'],
      [() => session.grep('('), 'pattern'],
      [() => session.registerTool({ ...hostTool('x', () => ''), desc: 'd' } as never), 'tool.desc'],
    ];
    for (const [call, argument] of calls) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error, argument).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument } });
      expect((error as Error).message).not.toMatch(/invalid type|expected|query|file_path/);
    }
  });

  it('options of a call with a key nobody knows are refused by name', async () => {
    const session = await open({ a: 'x' });
    const agent = await debugAgent();
    const { signal } = new AbortController();
    const calls: Array<() => Promise<unknown>> = [
      () => session.tool('debug_noop', {}, { sginal: signal } as never),
      () => session.readFile('a', {}, { sginal: signal } as never),
      () => agent.sessionAsync(session.workspace, {}, { sginal: signal } as never),
    ];
    for (const call of calls) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'options.sginal' } });
      expect((error as Error).message).toContain('`signal`');
    }
    for (const wrong of [signal, 5, 'text']) {
      await expect(session.tool('debug_noop', {}, wrong as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: { argument: 'options' },
      });
    }
    class Options {
      readonly signal = signal;
      readonly more = 1;
    }
    expect((await session.tool('debug_noop', {}, new Options())).output).toBe('ok');
  });

  it('what is no signal is refused', async () => {
    const session = await open();
    await expect(session.tool('debug_noop', {}, { signal: {} as never })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('closing', () => {
  it('again does nothing, and use after it is SESSION_CLOSED', async () => {
    const session = await open({ 'a.txt': 'x' });
    await Promise.all([session.close(), session.close()]);
    await session.close();
    expect(session.isClosed()).toBe(true);
    expect(session.sessionId).not.toBe('');
    for (const call of [
      () => session.tool('read', { file_path: 'a.txt' }),
      () => session.readFile('a.txt'),
      () => session.glob('*'),
      () => session.activeTools(),
      () => session.getArtifact('a3s://tool-output/x'),
      async () => session.toolNames(),
      () => session.registerTool(hostTool('late', () => '')),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'SESSION_CLOSED', name: 'SessionClosedError' });
    }
  });

  it('during a call ends that call as cancelled', async () => {
    const started = deferred();
    const session = await open(
      {},
      {
        tools: [
          hostTool('hang', () => {
            started.resolve();
            return new Promise(() => {});
          }),
        ],
      },
    );
    const calls = [session.tool('hang', {}), session.tool('debug_wait', { ms: 60_000 })];
    await started.promise;
    await until(async () => (await session.activeTools()).length === 2);
    await session.close();
    for (const result of await Promise.all(calls)) expect(result.errorKind).toMatchObject({ type: 'cancelled' });
  });

  it('an agent closes its sessions', async () => {
    const agent = await debugRuntime().agent();
    const session = await agent.sessionAsync(await workspace());
    await agent.close();
    await agent.close();
    expect(agent.isClosed()).toBe(true);
    expect(session.isClosed()).toBe(true);
    await expect(agent.sessionAsync(await workspace())).rejects.toMatchObject({ code: 'HANDLE_CLOSED' });
    await expect(session.tool('ls', {})).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  it('await using closes at the end of the block', async () => {
    const agent = await debugAgent();
    const folder = await workspace();
    let kept;
    {
      await using session = await agent.sessionAsync(folder);
      kept = session;
      expect(kept.isClosed()).toBe(false);
    }
    expect(kept.isClosed()).toBe(true);
  });
});

describe('errors', () => {
  const codes = Object.keys(code.ERROR_CLASSES) as ErrorCode[];

  it('there are classes', () => {
    expect(codes.length).toBeGreaterThan(40);
  });

  it.each(codes)('%s has its class', async (name) => {
    const error: unknown = await debugRuntime().fail(name).then(() => undefined, (thrown: unknown) => thrown);
    expect(A3SError.is(error, name)).toBe(true);
    expect(error).toBeInstanceOf(A3SError);
    const typed = error as A3SError;
    expect(typed.name).toBe(className(name));
    expect(error).toBeInstanceOf((code as unknown as Record<string, new () => A3SError>)[className(name)]!);
    expect(typed.message).not.toBe('');
    expect(typeof typed.retryable).toBe('boolean');
  });

  it('is tells errors of the library from others', () => {
    expect(A3SError.is(new Error('x'))).toBe(false);
    expect(A3SError.is(null)).toBe(false);
    expect(A3SError.is(new code.TimeoutError({ code: 'TIMEOUT', message: '' }), 'CANCELLED')).toBe(false);
    expect(A3SError.is({ code: 'TIMEOUT' })).toBe(false);
  });

  it('a panic inside the library is one failed call; the next hundred work', async () => {
    const session = await open();
    for (const place of ['entry', 'task'] as const) {
      await expect(debugRuntime().panic(place)).rejects.toMatchObject({ code: 'PANIC', name: 'PanicError' });
    }
    const panicked = await session.tool('debug_panic', {}).catch((error: unknown) => error);
    expect(panicked).toBeDefined();
    for (let at = 0; at < 100; at++) {
      expect((await session.tool('debug_noop', {})).exitCode).toBe(0);
    }
    expect((await session.tool('debug_wait', { ms: 1 })).output).toBe('waited');
  });
});

/** `CONFIG_ERROR` is `ConfigError`, `NOT_FOUND` is `NotFoundError`. */
function className(name: ErrorCode): string {
  const words = name.split('_').filter((word, at, all) => word !== 'ERROR' || at + 1 < all.length);
  return `${words.map((word) => word[0] + word.slice(1).toLowerCase()).join('')}Error`;
}

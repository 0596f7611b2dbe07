// What the binding does to its process: how long it lives, what it leaves behind, who else runs in it.

import { describe, expect, it } from 'vitest';
import { run, workspace } from './support.js';

const OPEN = (folder: string) => `
import { Agent } from '@a3s-lab/code';
import { DebugRuntime, debugCounts } from '@a3s-lab/code/testing';
const agent = await new DebugRuntime().agent();
const session = await agent.sessionAsync(${JSON.stringify(folder)});
`;

describe('lifetime of the process', () => {
  it('it exits by itself when nothing runs, also with everything left open', async () => {
    const done = await run(`${OPEN(await workspace())}
      await session.tool('debug_wait', { ms: 5 });
      await session.tool('debug_noop', {});
      await session.registerTool({ name: 'mine', description: 'd', parameters: { type: 'object' }, handler: async () => 'ok' });
      await session.tool('mine', {});
      globalThis.kept = session;
      const at = Date.now();
      process.on('exit', () => console.log(Date.now() - at));
    `);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(Number(done.stdout)).toBeLessThan(500);
    expect(done.ms).toBeLessThan(2_000 + 1_000);
  });

  it('it lives while a call is pending, and does not end with code 13', async () => {
    const done = await run(`${OPEN(await workspace())}
      const result = await session.tool('debug_wait', { ms: 400 });
      console.log(result.output);
    `);
    expect(done).toMatchObject({ code: 0, stdout: 'waited\n', stderr: '' });
  });

  it('it lives while a handler runs', async () => {
    const done = await run(`${OPEN(await workspace())}
      await session.registerTool({ name: 'slow', description: 'd', parameters: { type: 'object' },
        handler: () => new Promise((resolve) => setTimeout(resolve, 200, 'slow').unref()) });
      console.log((await session.tool('slow', {})).output);
    `);
    expect(done).toMatchObject({ code: 0, stdout: 'slow\n', stderr: '' });
  });

  it('it exits when told to, with calls running', async () => {
    const done = await run(`${OPEN(await workspace())}
      session.tool('debug_wait', { ms: 60_000 });
      setTimeout(() => process.exit(7), 50);
    `);
    expect(done).toMatchObject({ code: 7, stderr: '' });
    expect(done.ms).toBeLessThan(3_000);
  });

  it('importing it starts no thread and prints nothing', async () => {
    const done = await run(`
      import { readdirSync } from 'node:fs';
      import { stat } from 'node:fs/promises';
      const threads = () => readdirSync('/proc/self/task').length;
      await Promise.all(Array.from({ length: 8 }, () => stat('.'))); // Node's own pool
      const before = threads();
      const { Agent, sdkCapabilities } = await import('@a3s-lab/code');
      sdkCapabilities();
      console.log(threads() - before);
    `);
    expect(done).toMatchObject({ code: 0, stdout: '0\n', stderr: '' });
  });

  it('a tight loop of calls lets timers run', async () => {
    const done = await run(`${OPEN(await workspace())}
      let ticks = 0;
      setInterval(() => ticks++, 10).unref();
      const end = Date.now() + 500;
      while (Date.now() < end) await session.tool('debug_noop', {});
      console.log(ticks >= 10 ? 'ticked' : 'starved: ' + ticks);
    `);
    expect(done).toMatchObject({ code: 0, stdout: 'ticked\n' });
  });

  it('no rejection is left unhandled, whatever goes wrong', async () => {
    const done = await run(`${OPEN(await workspace())}
      let unhandled = 0;
      process.on('unhandledRejection', () => unhandled++);
      const tool = (name, handler, more) => ({ name, description: 'd', parameters: { type: 'object' }, handler, ...more });
      await session.registerTool(tool('throws', () => { throw new Error('x'); }));
      await session.registerTool(tool('hang', () => new Promise(() => {}), { timeoutMs: 50 }));
      await session.registerTool(tool('late', (_, ctx) => new Promise((_, no) => ctx.signal.addEventListener('abort', () => no(new Error('late')))), { timeoutMs: 50 }));
      const controller = new AbortController();
      const calls = [
        session.tool('throws', {}), session.tool('hang', {}), session.tool('late', {}),
        session.tool('debug_wait', { ms: 60_000 }, { signal: controller.signal }),
        session.tool('debug_noop', { n: 1n }),
        session.tool('late', {}, { signal: AbortSignal.timeout(10) }),
      ];
      controller.abort();
      const settled = await Promise.allSettled(calls);
      const last = session.tool('debug_wait', { ms: 60_000 });
      await session.close();
      await last;
      await new Promise((resolve) => setTimeout(resolve, 100));
      console.log(unhandled, settled.filter((one) => one.status === 'rejected').length);
    `);
    expect(done).toMatchObject({ code: 0, stdout: '0 3\n', stderr: '' });
  });

  it('an object that nobody holds is released', async () => {
    const done = await run(
      `${OPEN(await workspace())}
      const before = debugCounts().sessions;
      for (let at = 0; at < 20; at++) {
        const one = await agent.sessionAsync(${JSON.stringify(await workspace())}, {
          tools: [{ name: 'me', description: 'd', parameters: { type: 'object' }, handler: () => one.sessionId }] });
        if ((await one.tool('me', {})).output !== one.sessionId) throw new Error('wrong session');
      }
      for (let at = 0; at < 50 && debugCounts().sessions > before + 1; at++) {
        globalThis.gc();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      console.log(debugCounts().sessions - before <= 1);
    `,
      ['--expose-gc'],
    );
    expect(done).toMatchObject({ code: 0, stdout: 'true\n', stderr: '' });
  });

  it('ten thousand calls leave nothing behind', async () => {
    const done = await run(
      `${OPEN(await workspace({ 'a.txt': 'some text\n' }))}
      import { readdirSync } from 'node:fs';
      await session.registerTool({ name: 'mine', description: 'd', parameters: { type: 'object' }, handler: async () => 'ok' });
      const calls = [
        () => session.tool('debug_noop', { text: 'x'.repeat(200) }),
        () => session.tool('mine', {}),
        () => session.readFile('a.txt'),
        () => session.tool('read', { file_path: 'missing' }),
      ];
      const some = async (count) => { for (let at = 0; at < count; at++) await calls[at % calls.length](); };
      const measure = async () => {
        for (let at = 0; at < 5; at++) { globalThis.gc(); await new Promise((resolve) => setTimeout(resolve, 20)); }
        return { threads: readdirSync('/proc/self/task').length, fds: readdirSync('/proc/self/fd').length,
          counts: debugCounts(), rss: process.memoryUsage.rss() };
      };
      await some(1_000);
      const before = await measure();
      await some(10_000);
      const after = await measure();
      console.log(JSON.stringify({ before, after }));
    `,
      // The engine's young space at one size: its growth is not what is measured.
      ['--expose-gc', '--max-semi-space-size=1'],
      60_000,
    );
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const { before, after } = JSON.parse(done.stdout);
    expect(after.counts).toEqual(before.counts);
    expect(after.threads).toBeLessThanOrEqual(before.threads);
    expect(after.fds).toBe(before.fds);
    expect((after.rss - before.rss) / 2 ** 20).toBeLessThan(5);
  }, 60_000);
});

describe('worker threads', () => {
  const WORKER = (folder: string) => `
    const { parentPort } = require('node:worker_threads');
    const { DebugRuntime } = require('@a3s-lab/code/testing');
    (async () => {
      const agent = await new DebugRuntime().agent();
      const session = await agent.sessionAsync(${JSON.stringify(folder)}, {
        tools: [{ name: 'hang', description: 'd', parameters: { type: 'object' }, handler: () => new Promise(() => {}) }] });
      const result = await session.tool('debug_wait', { ms: 2 });
      session.tool('debug_wait', { ms: 60_000 });
      session.tool('hang', {});
      parentPort.postMessage(result.output);
    })();
  `;

  it('twenty are made and terminated during calls, and the others go on', async () => {
    const folder = await workspace();
    const done = await run(`${OPEN(folder)}
      import { Worker } from 'node:worker_threads';
      const before = debugCounts();
      const mine = session.tool('debug_wait', { ms: 1_000 });
      const one = async () => {
        const worker = new Worker(${JSON.stringify(WORKER(folder))}, { eval: true, execArgv: [] });
        await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
        await worker.terminate();
      };
      for (let round = 0; round < 5; round++) await Promise.all([one(), one(), one(), one()]);
      if ((await mine).output !== 'waited') throw new Error('lost a call');
      let after;
      for (let at = 0; at < 200; at++) {
        after = debugCounts();
        if (JSON.stringify(after) === JSON.stringify(before)) break;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      console.log(JSON.stringify(after) === JSON.stringify(before) ? 'as before' : JSON.stringify({ before, after }));
    `);
    expect(done).toMatchObject({ code: 0, stdout: 'as before\n', stderr: '' });
  });

  it('the library survives when only workers ever loaded it', async () => {
    const folder = await workspace();
    const done = await run(`
      import { Worker } from 'node:worker_threads';
      for (let at = 0; at < 3; at++) {
        const worker = new Worker(${JSON.stringify(WORKER(folder))}, { eval: true, execArgv: [] });
        await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
        await worker.terminate();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      console.log('alive');
    `);
    expect(done).toMatchObject({ code: 0, stdout: 'alive\n', stderr: '' });
  });
});

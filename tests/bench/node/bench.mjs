// Measures the Node binding. Started by `cargo xtask bench` with a plan as its one argument; prints rows.
// Times are in milliseconds; the peers in the plan come from the Rust program of the same run.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { DebugRuntime } from '../../../bindings-node/dist/esm/testing.js';

const IN_FLIGHT = 64;
const SAMPLES = 20_000;
const PACKAGE = fileURLToPath(new URL('../../../bindings-node', import.meta.url));

const plan = JSON.parse(process.argv[2] ?? 'null');
if (plan?.noop === undefined) throw new Error('the plan is missing: start this by `cargo xtask bench`');
const effort = plan.quick ? 500 : 2500;

function print(id, name, unit, value, { floor = null, target = null, least = false } = {}) {
  const met = target === null || (least ? value >= target : value <= target);
  console.log(JSON.stringify({ id, case: name, value, unit, floor, target, met }));
}

function middle(samples) {
  return samples.sort((a, b) => a - b)[samples.length >> 1];
}

async function median(work) {
  for (let at = 0, end = performance.now() + effort / 5; performance.now() < end || at < 3; at++) await work();
  const samples = [];
  const end = performance.now() + effort;
  while (samples.length < 11 || (performance.now() < end && samples.length < SAMPLES)) {
    const start = performance.now();
    await work();
    samples.push(performance.now() - start);
  }
  return middle(samples);
}

// A failed result is a failure here, so that no refusal is taken for speed.
async function call(session, name, args) {
  const result = await session.tool(name, args);
  if (result.exitCode !== 0) throw new Error(`${name}: ${result.output}`);
}

async function rate(work) {
  let calls = 0;
  const start = performance.now();
  const end = start + effort * 2;
  const worker = async () => {
    for (; performance.now() < end; calls++) await work();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return calls / ((performance.now() - start) / 1000);
}

// Wall time of an interpreter that runs a text, and what it printed.
function start(text) {
  const begin = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', text], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return { elapsed: performance.now() - begin, stdout };
}

function starts(...texts) {
  const samples = texts.map(() => []);
  for (let at = 0; at < (plan.quick ? 9 : 31); at++) {
    texts.forEach((text, which) => samples[which].push(start(text)));
  }
  return samples;
}

const agent = await new DebugRuntime().agent();
const session = await agent.sessionAsync(plan.corpus);

const noop = () => call(session, 'debug_noop', {});
print('P2a', 'no-op tool, node awaited', 'ms', await median(noop), { floor: plan.noop, target: plan.noop + 0.01 });

const wait = await median(() => call(session, 'read', { file_path: 'waits.txt' }));
print('P2b', 'call that waits, node awaited, over rust', 'ms', wait - plan.wait, {
  floor: plan.pingPong,
  target: 4 * plan.pingPong,
});

print('P2c', '64 calls in flight, node', 'calls/s', await rate(noop), { target: 120_000, least: true });
await session.close();
await agent.close();

const load = `require(${JSON.stringify(PACKAGE)})`;
const first = `const { Agent } = ${load}; const start = performance.now();
Agent.create().then((agent) => agent.sessionAsync(${JSON.stringify(plan.corpus)})).then((session) => {
  console.log(performance.now() - start);
  return session.close();
});`;
const [bare, loaded, opened] = starts('', load, first);
const floor = middle(bare.map(({ elapsed }) => elapsed));
const value = middle(loaded.map(({ elapsed }) => elapsed));
print('P28', 'require, node, over a bare start', 'ms', value, { floor, target: floor + 15 });
print('P28', 'first session, node', 'ms', middle(opened.map(({ stdout }) => Number(stdout))), { target: 5 });

// What several tests need: workspaces that go away, agents that are closed, programs in a process of their own.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach } from 'vitest';
import type { Agent, HostTool, Session, SessionOptions } from '@a3s-lab/code';
import { DebugRuntime } from '@a3s-lab/code/testing';

export const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
export const REPOSITORY = dirname(PACKAGE);

const folders: string[] = [];
const sessions: Session[] = [];
const agents: Agent[] = [];
let runtime: DebugRuntime | undefined;

afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()));
});

afterAll(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.close()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** The debug runtime of this test file. */
export function debugRuntime(): DebugRuntime {
  return (runtime ??= new DebugRuntime());
}

/** An agent with debug tools, closed after the file. */
export async function debugAgent(): Promise<Agent> {
  if (agents[0] !== undefined) return agents[0];
  const agent = await debugRuntime().agent();
  agents.push(agent);
  return agent;
}

/** A fresh workspace that holds `files`. */
export async function workspace(files: Record<string, string | Buffer> = {}): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'a3s-node-')));
  folders.push(folder);
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  return folder;
}

/** A session on a fresh workspace, closed after the test. */
export async function open(files: Record<string, string | Buffer> = {}, options?: SessionOptions): Promise<Session> {
  const agent = await debugAgent();
  const session = await agent.sessionAsync(await workspace(files), options);
  sessions.push(session);
  return session;
}

/** A tool of the application that takes any object. */
export function hostTool(name: string, handler: HostTool['handler'], more: Partial<HostTool> = {}): HostTool {
  return { name, description: `test tool ${name}`, parameters: { type: 'object' }, handler, ...more };
}

/** Lines `0` to `count - 1` of a text, each `row-00000`. */
export function rows(count: number): string {
  let text = '';
  for (let at = 0; at < count; at++) text += `row-${String(at).padStart(5, '0')}\n`;
  return text;
}

/** A promise and the functions that settle it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Waits until `check` holds, at most two seconds. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 2_000;
  while (!(await check())) {
    if (Date.now() > end) throw new Error('did not come true within 2 seconds');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A block of the first document: from the line that is `first` to the first line that is `last`. */
export async function snippet(first: string, last = '});'): Promise<string> {
  const lines = (await readFile(join(REPOSITORY, 'tests/spec/seed-tools.txt'), 'utf8')).split('\n');
  const from = lines.indexOf(first);
  const to = lines.indexOf(last, from);
  if (from < 0 || to < 0) throw new Error(`no block begins with ${first}`);
  return lines.slice(from, to + 1).join('\n');
}

/** What a program of its own did. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
  ms: number;
}

/** Runs an ES module text in a process of its own, from the package's folder. */
export function run(code: string, args: string[] = [], limitMs = 15_000): Promise<Ran> {
  const started = Date.now();
  const child = spawn(process.execPath, [...args, '--input-type=module', '-e', code], {
    cwd: PACKAGE,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  return new Promise((resolve) => {
    child.on('close', (exit) => {
      clearTimeout(timer);
      resolve({ code: exit, stdout, stderr, ms: Date.now() - started });
    });
  });
}

// The documents' blocks of direct calls, run as they stand.

import { execFileSync } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Session, ToolResult } from '@a3s-lab/code';
import { debugAgent, REPOSITORY, snippet, workspace } from './support.js';

const FIXTURE = join(REPOSITORY, 'tests/fixtures/rust-repo');

const AsyncFunction = (async () => {}).constructor as new (
  ...text: string[]
) => (session: Session, console: { log(...values: unknown[]): void }) => Promise<any>;

/** Runs a block; gives the values of its names, and what it printed. */
async function run(code: string, session: Session, names: string): Promise<{ values: any; printed: unknown[][] }> {
  const printed: unknown[][] = [];
  const block = new AsyncFunction('session', 'console', `${code}\nreturn { ${names} };`);
  return { values: await block(session, { log: (...values) => printed.push(values) }), printed };
}

/** A copy of the Rust fixture that is a repository with one commit. */
async function repository(): Promise<string> {
  const folder = join(await workspace(), 'repo');
  await mkdir(folder);
  await cp(FIXTURE, folder, { recursive: true, filter: (path) => !path.endsWith('/target') });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder });
  git('init', '--quiet', '--initial-branch', 'trunk');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first');
  return folder;
}

describe('documented blocks', () => {
  // claims: DIRECT-01
  it('the direct calls run in a Rust repository and print what they found', { timeout: 120_000 }, async () => {
    const block = await snippet("const files = await session.glob('src/**/*.rs');", 'console.log(raw.output);');
    expect(block.split('\n')).toHaveLength(11);
    await using session = await (await debugAgent()).sessionAsync(await repository());
    const { values, printed } = await run(block, session, 'files, hits, status, output, raw, schemas, hitLines');
    expect(values.files).toEqual(['src/lib.rs', 'src/policy.rs']);
    expect(values.hits).toMatch(/^src\/policy\.rs:4:pub struct PermissionPolicy/);
    expect(values.output).toContain('test tests::the_answer_is_known ... ok');
    expect(values.output).toContain('test result: ok. 1 passed; 0 failed');
    const status: ToolResult = values.status;
    expect(status.name).toBe('git');
    expect(status.exitCode).toBe(0);
    expect(status.metadata).toMatchObject({ branch: 'trunk' });
    expect(status.output).toContain('trunk');
    expect(values.raw).toMatchObject({ name: 'read', exitCode: 0 });
    expect(printed).toEqual([
      [2, 1, values.output.length, session.toolNames().length],
      [status.output],
      [values.raw.output],
    ]);
    expect(values.raw.output).toContain('# Fixture');
  });

  // claims: SRCH-31
  it.each([
    ['the fixture', FIXTURE],
    ['this repository', REPOSITORY],
  ])('the ranked search finds at most 8 places in Rust files under core/src of %s', async (_, root) => {
    const block = await snippet("const ranked = await session.tool('search', {");
    await using session = await (await debugAgent()).sessionAsync(root);
    const ranked: ToolResult = (await run(block, session, 'ranked')).values.ranked;
    expect(ranked).toMatchObject({ name: 'search', exitCode: 0 });
    const { results } = ranked.metadata as { results: Array<{ path: string }> };
    expect(results.length).toBeGreaterThan(0);
    expect(results.length).toBeLessThanOrEqual(8);
    for (const { path } of results) expect(path).toMatch(/^core\/src\/.*\.rs$/);
  });
});

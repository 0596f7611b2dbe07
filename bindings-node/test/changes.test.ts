// Changing files and running commands through the public API.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Session } from '@a3s-lab/code';
import { open, until } from './support.js';

/** How soon a cancelled or closed command must have ended. */
const PROMPT_MS = 5_000;

const at = (session: Session, path: string) => join(session.workspace, path);

/** Whether a process runs; one that has ended and is not collected yet does not. */
function runs(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

/** The processes whose numbers a command has written to `pids`, once there are `count` of them. */
async function pids(session: Session, count: number): Promise<number[]> {
  let found: number[] = [];
  await until(async () => {
    const text = await readFile(at(session, 'pids'), 'utf8').catch(() => '');
    found = text.split('\n').slice(0, -1).map(Number);
    return found.length >= count;
  });
  return found;
}

/** Starts a process of the background, says who they are, and waits. */
const FAMILY = 'sleep 60 & echo $! >> pids; echo $$ >> pids; wait';

describe('changes', () => {
  it('writeFile, editFile and patchFile have changed the file and give a result', async () => {
    const session = await open();
    const written = await session.writeFile('d/f.txt', 'one\ntwo\none\n');
    expect(written).toMatchObject({ name: 'write', exitCode: 0 });
    expect(await readFile(at(session, 'd/f.txt'), 'utf8')).toBe('one\ntwo\none\n');

    const ambiguous = await session.editFile('d/f.txt', 'one', '1');
    expect(ambiguous.exitCode).not.toBe(0);
    expect(await readFile(at(session, 'd/f.txt'), 'utf8')).toBe('one\ntwo\none\n');
    expect(await session.editFile('d/f.txt', 'two', '2')).toMatchObject({ name: 'edit', exitCode: 0 });
    expect(await session.editFile('d/f.txt', 'one', '1', true)).toMatchObject({ name: 'edit', exitCode: 0 });
    expect(await readFile(at(session, 'd/f.txt'), 'utf8')).toBe('1\n2\n1\n');

    const patched = await session.patchFile('d/f.txt', '@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 1\n');
    expect(patched).toMatchObject({ name: 'patch', exitCode: 0 });
    expect(await readFile(at(session, 'd/f.txt'), 'utf8')).toBe('1\nzwei\n1\n');
  });

  // claims: EDIT-01, EDIT-03
  it('a dry run shows the change and touches nothing, and its count is what the edit expects', async () => {
    const session = await open({ 'p.txt': 'port = 1\nport = 2\n' });
    const before = await stat(at(session, 'p.txt'), { bigint: true });
    const edit = { file_path: 'p.txt', old_string: 'port', new_string: 'gate', replace_all: true };
    const dry = await session.tool('edit', { ...edit, dry_run: true });
    expect(dry.metadata).toMatchObject({ dry_run: true, before: 'port = 1\nport = 2\n', after: 'gate = 1\ngate = 2\n' });
    const after = await stat(at(session, 'p.txt'), { bigint: true });
    expect([after.mtimeNs, after.ino]).toEqual([before.mtimeNs, before.ino]);
    const count: number = dry.metadata!.replacement_count;
    const wrong = await session.tool('edit', { ...edit, expected_replacements: count + 1 });
    expect(wrong.exitCode).not.toBe(0);
    expect(await session.readFile('p.txt')).toBe('port = 1\nport = 2\n');
    expect((await session.tool('edit', { ...edit, expected_replacements: count })).exitCode).toBe(0);
    expect(await session.readFile('p.txt')).toBe('gate = 1\ngate = 2\n');
  });

  it('any text is written exactly, also a large one and none', async () => {
    const session = await open();
    const large = 'grüße 🐟 \0 \r\n'.repeat(800_000);
    for (const text of [large, '']) {
      expect((await session.writeFile('f', text)).exitCode).toBe(0);
      const sum = createHash('sha256').update(text).digest('hex');
      expect(createHash('sha256').update(await readFile(at(session, 'f'))).digest('hex')).toBe(sum);
    }
  });

  it('what is no text is refused before a file is touched', async () => {
    const session = await open({ 'f': 'kept' });
    for (const content of [undefined, 7, null, Buffer.from('x'), 'a\ud800']) {
      await expect(session.writeFile('f', content as string)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: { argument: 'content' },
      });
    }
    expect(await readFile(at(session, 'f'), 'utf8')).toBe('kept');
    expect((await session.writeFile('../f', 'x')).errorKind).toMatchObject({ type: 'invalid_argument' });
  });
});

describe('commands', () => {
  // claims: DIRECT-04
  it('bash gives the output, and states a status that is not 0', async () => {
    const session = await open();
    expect(await session.bash("printf 'plain\\n'; echo wrong >&2")).toBe('plain\nwrong\n');
    const failed = await session.bash('echo some-text; exit 37');
    expect(failed).toMatch(/^some-text\n.*37.*\n$/);
  });

  // claims: DIRECT-04
  it('bash raises what keeps a command from ending: its time limit, and what cannot be started', async () => {
    const session = await open({}, { toolTimeoutMs: 300 });
    await expect(session.bash('sleep 60')).rejects.toMatchObject({
      code: 'TIMEOUT',
      details: { errorKind: { type: 'timeout' } },
    });
    await expect(session.bash('echo "\0"')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  // claims: DIRECT-07
  it('commands and paths are those of the workspace', async () => {
    const session = await open({ 'd/f.txt': 'here\n' });
    expect(await session.bash('pwd')).toBe(`${session.workspace}\n`);
    expect(await session.bash('cat d/f.txt')).toBe('here\n');
    expect(await session.readFile('d/f.txt')).toBe('here\n');
  });

  // claims: ORIG-35
  it('closing the session ends a running command promptly and its call as cancelled', async () => {
    const session = await open();
    const called = session.tool('bash', { command: FAMILY });
    const helper = session.bash('sleep 60').catch((error: unknown) => error);
    const family = await pids(session, 2);
    const started = Date.now();
    await session.close();
    expect((await called).errorKind).toMatchObject({ type: 'cancelled' });
    expect(await helper).toMatchObject({ code: 'CANCELLED' });
    expect(Date.now() - started).toBeLessThan(PROMPT_MS);
    expect(family.filter(runs)).toEqual([]);
  });

  // claims: CTR-16
  it('a signal ends the command with everything it started, and the session goes on', async () => {
    const session = await open();
    const controller = new AbortController();
    const call = session.bash(FAMILY, { signal: controller.signal });
    const family = await pids(session, 2);
    expect(family.every(runs)).toBe(true);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await until(() => !family.some(runs));
    expect(await session.bash('echo on')).toBe('on\n');
  });

  // claims: CTR-15
  it('a timeout ends what the command started in the background', async () => {
    const session = await open();
    const result = await session.tool('bash', { command: FAMILY, timeout: 1_000 });
    expect(result.errorKind).toMatchObject({ type: 'timeout' });
    expect((await pids(session, 2)).filter(runs)).toEqual([]);
  });

  // claims: CTR-13
  it('a command that closes its pipes is ended at its deadline', async () => {
    const session = await open();
    const started = Date.now();
    const result = await session.tool('bash', { command: 'exec >&- 2>&-; sleep 60', timeout: 1_000 });
    expect(result.errorKind).toMatchObject({ type: 'timeout' });
    expect(Date.now() - started).toBeLessThan(1_000 + PROMPT_MS);
  });
});

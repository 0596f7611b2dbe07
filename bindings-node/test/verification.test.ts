// Commands that turn "done" into evidence, and the reports a session keeps of them.

import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Session, VerificationCommand, VerificationReport } from '@a3s-lab/code';
import { debugAgent, open, REPOSITORY, snippet, workspace } from './support.js';

const AsyncFunction = (async () => {}).constructor as new (
  ...text: string[]
) => (session: Session) => Promise<VerificationReport>;

function check(id: string, command: string, more: Partial<VerificationCommand> = {}): VerificationCommand {
  return { id, kind: 'test', description: 'A check', command, required: true, timeoutMs: 20_000, ...more };
}

describe('verification', () => {
  // claims: VER-01
  it('the documented call runs the tests of a Rust repository', { timeout: 120_000 }, async () => {
    const folder = join(await workspace(), 'repo');
    await mkdir(folder);
    const fixture = join(REPOSITORY, 'tests/fixtures/rust-repo');
    await cp(fixture, folder, { recursive: true, filter: (path) => !path.endsWith('/target') });
    await using session = await (await debugAgent()).sessionAsync(folder);
    const block = await snippet("const report = await session.verifyCommands('release readiness', [", ']);');
    const report = await new AsyncFunction('session', `${block}\nreturn report;`)(session);
    expect(report).toMatchObject({
      schema: 'a3s.verification_report.v1',
      subject: 'release readiness',
      status: 'passed',
      checks: [{ id: 'unit', kind: 'test', description: 'Run core tests', required: true, exitCode: 0 }],
    });
    expect(report.checks[0]!.output).toContain('test result: ok');
    expect(session.verificationReports()).toEqual([report]);
  });

  // claims: VER-02, VER-03
  it('a report shows what each command came to, and only a required one fails it', async () => {
    const session = await open();
    const good = check('good', 'true');
    const bad = check('bad', 'echo no good; exit 1');
    const failed = await session.verifyCommands('subject', [good, bad]);
    expect(failed.status).toBe('failed');
    expect(failed.checks.map(({ id, status, exitCode }) => [id, status, exitCode])).toEqual([
      ['good', 'passed', 0],
      ['bad', 'failed', 1],
    ]);
    expect(failed.checks[1]!.output).toContain('no good');
    const optional = await session.verifyCommands('subject', [good, { ...bad, required: false }]);
    expect(optional.status).toBe('needs_review');
    expect(session.verificationSummary()).toMatchObject({ status: 'needs_review', reportCount: 1, failedCheckCount: 1 });
    expect(session.verificationSummaryText()).toContain('subject');
  });

  // claims: VER-04
  it('a command that takes too long is ended and has not passed', async () => {
    const session = await open();
    const begun = Date.now();
    const report = await session.verifyCommands('time', [check('slow', 'sleep 30', { timeoutMs: 1000 })]);
    expect(Date.now() - begun).toBeLessThan(10_000);
    expect(report).toMatchObject({ status: 'failed', checks: [{ status: 'failed' }] });
    expect(report.checks[0]).not.toHaveProperty('exitCode');
  });

  it('what is malformed runs nothing and is named', async () => {
    const session = await open();
    const wrong = [check('a', 'touch ran'), check('b', 'true', { timeoutMs: 0 })];
    await expect(session.verifyCommands('x', wrong)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('commands[1].timeoutMs'),
    });
    expect((await session.tool('ls', {})).output).not.toContain('ran');
  });

  it('an aborted call ends its command and keeps no report', async () => {
    const session = await open();
    const call = session.verifyCommands('x', [check('a', 'sleep 30')], { signal: AbortSignal.timeout(300) });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(session.verificationReports()).toEqual([]);
  });

  it('presets fit the project and can be handed on; reports of the application are kept', async () => {
    const session = await open({ 'go.mod': 'module x\n' });
    const [preset, ...others] = session.verificationPresets();
    expect(others).toEqual([]);
    expect(preset).toMatchObject({ id: 'go', projectKind: 'go' });
    expect(preset!.commands.map((command) => command.command)).toEqual(['go test ./...', 'go vet ./...']);
    const report = await session.verifyCommands('mine', [check('a', 'true')]);
    session.recordVerificationReports([{ ...report, subject: 'elsewhere' }]);
    expect(session.verificationReports().map(({ subject }) => subject)).toEqual(['mine', 'elsewhere']);
    const claim = { ...report, checks: [{ ...report.checks[0]!, status: 'failed' as const }] };
    expect(() => session.recordVerificationReports([claim])).toThrow('reports[0].status');
    expect(session.verificationReports()).toHaveLength(2);
  });
});

// Results, their evidence, and how they are shortened.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ToolResult, ToolResultTransformPolicy } from '@a3s-lab/code';
import { debugAgent, hostTool, open, rows, snippet, workspace } from './support.js';

const EVIDENCE = 'a3s_tool_result_evidence';
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const evidence = (result: ToolResult) => result.metadata?.[EVIDENCE] as Record<string, any>;

describe('results', () => {
  // claims: RES-01, RES-02, RES-03
  it('a result has name, output, exit code, and metadata as value and as text', async () => {
    const session = await open({ 'a.txt': 'hello\n' });
    const good = await session.tool('read', { file_path: 'a.txt' });
    expect(good).toBeInstanceOf(ToolResult);
    expect(good.name).toBe('read');
    expect(typeof good.output).toBe('string');
    expect(good.exitCode).toBe(0);
    expect(good.errorKind).toBeUndefined();
    expect(good.errorKindJson).toBeUndefined();
    expect(JSON.parse(good.metadataJson!)).toEqual(good.metadata);
    expect(good.trust).toBe('workspace_data');
    expect(good.evidence.loss_mode).toBe('none');
    expect(good.evidence).toBe(good.metadata!['a3s_tool_result_evidence']);

    const bad = await session.tool('read', { file_path: 'missing.txt' });
    expect(bad.name).toBe('read');
    expect(Number.isInteger(bad.exitCode)).toBe(true);
    expect(bad.exitCode).not.toBe(0);
    expect(bad.errorKind).toMatchObject({ type: 'not_found' });
    expect(JSON.parse(bad.errorKindJson!)).toEqual(bad.errorKind);
  });

  // claims: CTR-01
  it('read without arguments is an invalid-argument failure without a side effect', async () => {
    const session = await open({ 'a.txt': 'x' });
    const result = await session.tool('read', {});
    expect(result.exitCode).not.toBe(0);
    expect(result.errorKind).toMatchObject({ type: 'invalid_argument' });
    expect(await session.glob('**')).toEqual(['a.txt']);
  });

  // claims: EVID-01
  it('every result has evidence, of a success and of a failure', async () => {
    const session = await open({ 'a.txt': 'hello\n' });
    for (const args of [{ file_path: 'a.txt' }, { file_path: 'missing' }, {}]) {
      expect(evidence(await session.tool('read', args)).schema).toBe('a3s.code.tool-result-evidence.v1');
    }
    expect(evidence(await session.tool('no_such_tool', {})).schema).toBe('a3s.code.tool-result-evidence.v1');
  });

  // claims: EVID-03, EVID-05, EVID-10
  it('figures and digests are those of the text', async () => {
    const texts = ['grüße\n', 'grüße\n', 'grüsse\n'];
    let at = 0;
    const session = await open({}, { tools: [hostTool('say', () => texts[at++]!)] });
    const [first, second, third] = [await session.tool('say', {}), await session.tool('say', {}), await session.tool('say', {})];
    const bytes = Buffer.byteLength('grüße\n');
    expect(evidence(first)).toMatchObject({
      original_bytes: bytes,
      projected_bytes: bytes,
      loss_mode: 'none',
      content_ref: `inline:sha256:${sha256('grüße\n')}`,
    });
    expect(first.output).toBe('grüße\n');
    expect(evidence(second).repeat_key).toBe(evidence(first).repeat_key);
    expect(evidence(third).repeat_key).not.toBe(evidence(first).repeat_key);
    expect(evidence(first).repeat_key).toMatch(/[0-9a-f]{64}/);
  });

  // claims: EVID-03, EVID-11, PROJ-01
  it('a cut result keeps its first 100 KiB and its whole original', async () => {
    const original = rows(20_000);
    const session = await open({}, { tools: [hostTool('emit', () => original)] });
    const result = await session.tool('emit', {});
    expect(result.output.startsWith(original.slice(0, 102_400))).toBe(true);
    expect(result.output).not.toContain(original.slice(102_390, 102_430));
    const record = evidence(result);
    expect(record.original_bytes).toBe(Buffer.byteLength(original));
    expect(record.projected_bytes).toBe(Buffer.byteLength(result.output));
    expect(record.content_ref).toMatch(/^a3s:\/\/tool-output\//);

    const artifact = await session.getArtifact(record.content_ref);
    expect(artifact).toMatchObject({ toolName: 'emit', artifactUri: record.content_ref, originalBytes: original.length });
    expect(Buffer.isBuffer(artifact!.bytes)).toBe(true);
    expect(artifact!.bytes.equals(Buffer.from(original))).toBe(true);
    expect(artifact!.content).toBe(original);
    expect(`sha256:${sha256(artifact!.bytes)}`).toBe(record.content_digest);
    expect(await session.getArtifact('a3s://tool-output/none')).toBeNull();
  });

  // claims: PROJ-02
  it('without a policy repeated lines and long lists come back unchanged', async () => {
    const repeated = 'same line\n'.repeat(5_000);
    const list = JSON.stringify(Array.from({ length: 5_000 }, (_, n) => n));
    const texts = [repeated, list];
    const session = await open({}, { tools: [hostTool('emit', (args) => texts[args.at]!)] });
    expect((await session.tool('emit', { at: 0 })).output).toBe(repeated);
    expect((await session.tool('emit', { at: 1 })).output).toBe(list);
  });

  // claims: PROJ-16
  it('a bound outside 1 to 100 KiB is refused when the session is built', async () => {
    const agent = await debugAgent();
    const folder = await workspace();
    const policy = (maxOutputBytes: number) => ({
      toolResultTransformPolicy: { ...ToolResultTransformPolicy.contextEfficient(), maxOutputBytes },
    });
    for (const wrong of [0, 102_401]) {
      await expect(agent.sessionAsync(folder, policy(wrong))).rejects.toMatchObject({
        code: 'SESSION_CONFIGURATION_ERROR',
      });
    }
    const session = await agent.sessionAsync(folder, policy(102_400));
    await session.close();
  });

  // claims: PROJ-13
  it('the documented policy block builds a session that behaves as context-efficient', async () => {
    const block = await snippet("const session = await agent.sessionAsync('/repo', {");
    expect(block).toContain("'/repo'");
    const folder = await workspace();
    const code = block.replace("'/repo'", JSON.stringify(folder));
    const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => (agent: unknown) => Promise<any>;
    const session = await new AsyncFunction('agent', `${code}\nreturn session;`)(await debugAgent());
    const original = rows(20_000);
    await session.registerTool(hostTool('emit', () => original));
    await session.registerTool(hostTool('repeat', () => `start\n${'same\n'.repeat(50)}end\n`));
    await session.registerTool(hostTool('list', () => JSON.stringify(Array.from({ length: 20_000 }, (_, n) => `item ${n}`))));
    const cut = await session.tool('emit', {});
    expect(cut.output).toContain('row-00000');
    expect(cut.output).toContain('row-19999');
    expect(Buffer.byteLength(cut.output)).toBeLessThanOrEqual(102_400);
    expect(evidence(cut).loss_mode).toBe('head_tail');
    const folded = await session.tool('repeat', {});
    expect(folded.output.match(/^same$/gm)?.length ?? 0).toBeLessThan(3);
    expect(evidence(folded).loss_mode).toBe('deterministic_transform');
    expect(evidence(await session.tool('list', {})).loss_mode).toBe('deterministic_transform');
    await session.close();
  });
});

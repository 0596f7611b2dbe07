// The demo program: what an application does first, without a model. One JSON object a line; see ../DEMO.md.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, ToolResultTransformPolicy } from '@a3s-lab/code';

const path = process.argv[2];
if (path === undefined) {
  console.error('usage: node demo.mjs PATH');
  process.exit(1);
}

const sha256 = (data) => createHash('sha256').update(data).digest('hex');
const evidence = (result) => result.metadata.a3s_tool_result_evidence;
const show = (step, value, text) =>
  console.log(JSON.stringify({ step, value, ...(text === undefined ? {} : { show: text }) }));

const agent = await Agent.create();
const session = await agent.sessionAsync(path, {
  toolResultTransformPolicy: ToolResultTransformPolicy.contextEfficient(),
});

const names = session.toolNames();
show('tools', names, `${names.length} tools`);

const paths = await session.glob('*');
const [file] = paths;
show('glob', paths, `${paths.length} paths, first ${file}`);

const read = await session.tool('read', { file_path: file });
const { original_bytes: bytes, content_digest: digest } = evidence(read);
show('read', { file, exitCode: read.exitCode, bytes, digest }, `${bytes} bytes, ${digest.slice(0, 19)}`);

const text = Buffer.from(await session.readFile(file));
show('readFile', { bytes: text.length, sha256: sha256(text) }, `${text.length} bytes`);

const listing = await session.ls();
show('ls', { exitCode: listing.exitCode, digest: evidence(listing).content_digest }, `exit ${listing.exitCode}`);

const hits = await session.grep('TODO|fn ');
const lines = hits.split('\n').filter(Boolean).length;
show('grep', { lines, sha256: sha256(hits) }, `${lines} lines`);

await session.registerTool({
  name: 'count_rows',
  description: 'Returns numbered lines.',
  parameters: { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] },
  handler: ({ rows }) =>
    Array.from({ length: rows }, (_, at) => `L${String(at + 1).padStart(6, '0')}\n`).join(''),
});
const custom = await session.tool('count_rows', { rows: 20000 });
const record = evidence(custom);
show(
  'custom',
  {
    exitCode: custom.exitCode,
    originalBytes: record.original_bytes,
    projectedBytes: record.projected_bytes,
    lossMode: record.loss_mode,
    digest: record.content_digest,
  },
  `${record.original_bytes} to ${record.projected_bytes} bytes, ${record.loss_mode}`,
);

const original = (await session.getArtifact(record.content_ref)).bytes;
const matches = `sha256:${sha256(original)}` === record.content_digest;
show(
  'artifact',
  { bytes: original.length, sha256: sha256(original), matches },
  `${original.length} bytes, ${matches ? 'matches' : 'DIFFERS'}`,
);

const governed = await session.governedTool('read', { file_path: file });
show('governed', { exitCode: governed.exitCode }, `exit ${governed.exitCode}`);

const files = await session.glob('src/**/*.rs');
const policies = await session.grep('PermissionPolicy');
const status = await session.git('status');
const output = Buffer.from(await session.bash('git log -1'));
const raw = await session.tool('read', { file_path: 'README.md' });
const schemas = session.toolDefinitions();
const hitLines = policies.split('\n').filter(Boolean).length;
show(
  'direct',
  {
    files: files.length,
    hitLines,
    status: status.exitCode,
    statusDigest: evidence(status).content_digest,
    outputBytes: output.length,
    outputSha256: sha256(output),
    read: raw.exitCode,
    readDigest: evidence(raw).content_digest,
    schemas: schemas.length,
  },
  `${files.length} ${hitLines} ${output.length} ${schemas.length}`,
);

const ranked = await session.tool('search', {
  mode: 'bm25',
  query: 'workspace permission policy',
  limit: 8,
  context: 2,
});
const places = (ranked.metadata.results ?? []).map((hit) => hit.path);
show('bm25', { exitCode: ranked.exitCode, paths: places }, `${places.length} places`);

const batch = await session.tool('batch', {
  invocations: [
    { tool: 'read', args: { file_path: file } },
    { tool: 'read', args: { file_path: 'no-such-file' } },
  ],
});
const { status: outcome, failed_indices: failed } = batch.metadata;
show('batch', { exitCode: batch.exitCode, status: outcome, failed }, `${outcome}, exit ${batch.exitCode}`);

const folder = await mkdtemp(join(tmpdir(), 'a3s-demo-'));
const notes = await agent.sessionAsync(folder);
const before = 'port = 1\nport = 2\n';
await notes.writeFile('notes.txt', before);
const edit = { file_path: 'notes.txt', old_string: 'port', new_string: 'gate', replace_all: true };
const dry = await notes.tool('edit', { ...edit, dry_run: true });
const counted = dry.metadata.replacement_count;
const untouched = (await notes.readFile('notes.txt')) === before;
const edited = await notes.tool('edit', { ...edit, expected_replacements: counted });
const after = await notes.readFile('notes.txt');
show('edit', { counted, untouched, exitCode: edited.exitCode, text: after }, `${counted} counted, exit ${edited.exitCode}`);
await notes.close();
await rm(folder, { recursive: true });

await session.close();
show('close', session.isClosed());
await agent.close();

// The sixty-second example: open a workspace, look around, read, search. Needs no model, no key, no network.
import { Agent } from '@a3s-lab/code';

const agent = await Agent.create();
const session = await agent.sessionAsync(process.argv[2] ?? '.');

const files = await session.glob('**/*.{rs,ts,py,go}');
const hits = await session.grep('TODO|fn main');
console.log(`${files.length} source files, ${hits.split('\n').filter(Boolean).length} hits`);

const result = await session.tool('read', { file_path: files[0] ?? 'README.md', limit: 20 });
console.log(result.exitCode === 0 ? result.output : result.errorKind);
console.log(result.metadata.a3s_tool_result_evidence.content_digest);

await session.close();
await agent.close();

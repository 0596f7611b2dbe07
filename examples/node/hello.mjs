import { Agent } from '@a3s-lab/code';

const rows = {
  name: 'rows',
  description: 'Says many lines.',
  parameters: { type: 'object' },
  handler: () => Array.from({ length: 20000 }, (_, n) => `row ${n}\n`).join(''),
};
const agent = await Agent.create();
const session = await agent.sessionAsync(process.argv[2] ?? '.', { tools: [rows] });

const first = await session.readFile('README.md', { limit: 1 });
console.log(first.trim(), (await session.glob('**/*.rs')).length);

const result = await session.tool('rows', {}); // bounded, and accounted for
const { loss_mode, content_ref } = result.evidence;
const original = await session.getArtifact(content_ref);
console.log(loss_mode, original?.bytes.length);

const asModel = await session.governedTool('rows', {}); // governed: nobody allowed it
console.log(asModel.errorKind?.type);
await agent.close();

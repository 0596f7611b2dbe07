// Compiled by a test the way an application would, never run.

import { A3SError, Agent, ToolResultTransformPolicy, type AgentEvent, type HostTool, type ToolResult } from '@a3s-lab/code';

interface Rows {
  rows: number;
}

const counter: HostTool<Rows> = {
  name: 'count',
  description: 'counts',
  parameters: { type: 'object' },
  async handler(args, ctx) {
    ctx.own(() => undefined);
    const inner: ToolResult = await ctx.invokeTool('read', { file_path: 'a' }, { signal: ctx.signal });
    return { output: inner.output.repeat(args.rows), success: true };
  },
};

export async function main(signal: AbortSignal): Promise<number> {
  const agent = await Agent.create();
  const session = await agent.sessionAsync('/repo', {
    toolResultTransformPolicy: ToolResultTransformPolicy.contextEfficient(),
    permissionPolicy: { deny: ['bash'], defaultDecision: 'ask' },
    tools: [counter],
  });
  const raw = await session.tool('read', { file_path: 'README.md' }, { signal });
  const truncated: boolean = raw.metadata?.['batch']?.truncated === true;
  const text: string = await session.readFile('a', { offset: 1 }, { signal });
  const files: string[] = await session.glob('**');
  const artifact = await session.getArtifact('a3s://tool-output/x');
  const bytes: Buffer | undefined = artifact?.bytes;
  // @ts-expect-error a misspelt option is refused by the compiler
  await agent.sessionAsync('/repo', { hidenTools: [] });
  // @ts-expect-error what cannot wait takes no options
  session.toolNames({ signal });
  return raw.exitCode + text.length + files.length + (bytes?.length ?? 0) + Number(truncated);
}

export function label(event: AgentEvent): string {
  return event.type === 'tool_output_delta' ? `${event.toolName}: ${event.text}` : event.type;
}

export function handle(error: unknown): string {
  if (!A3SError.is(error)) throw error;
  return error.code === 'SESSION_CLOSED' ? 'closed' : error.message;
}

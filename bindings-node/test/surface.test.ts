// What a session says about itself.

import { describe, expect, it } from 'vitest';
import { Agent, AGENT_EVENT_TYPES, sdkCapabilities } from '@a3s-lab/code';
import { debugAgent, deferred, hostTool, open, until, workspace } from './support.js';

describe('surface', () => {
  // claims: SURF-02
  it('toolDefinitions has one entry a tool, with the names of toolNames and a schema', async () => {
    const session = await open({}, { tools: [hostTool('mine', () => 'ok')] });
    const names = session.toolNames();
    const definitions = session.toolDefinitions();
    expect(definitions.map((definition) => definition.name).sort()).toEqual([...names].sort());
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['ls', 'mine', 'read', 'search']));
    for (const definition of definitions) {
      expect(definition.description).not.toBe('');
      expect(definition.parameters).toMatchObject({ type: 'object' });
    }
    expect(session.presentedToolDefinitions()).toEqual(definitions);
  });

  // claims: SURF-19
  it('activeTools lists a call while it runs and no longer', async () => {
    const started = deferred();
    const go = deferred();
    const wait = hostTool('wait_here', async () => {
      started.resolve();
      await go.promise;
      return 'done';
    });
    const session = await open({}, { tools: [wait] });
    expect(await session.activeTools()).toEqual([]);
    const call = session.tool('wait_here', {});
    await started.promise;
    const [active, ...others] = await session.activeTools();
    expect(others).toEqual([]);
    expect(active).toMatchObject({ name: 'wait_here', id: expect.any(String) });
    expect(Math.abs(active!.startedAtMs - Date.now())).toBeLessThan(10_000);
    go.resolve();
    await call;
    await until(async () => (await session.activeTools()).length === 0);
  });

  it('properties and immediate methods answer without a promise', async () => {
    const agent = await debugAgent();
    const folder = await workspace();
    const session = await agent.sessionAsync(folder, { sessionId: 'known' });
    expect(session.sessionId).toBe('known');
    expect(session.workspace).toBe(folder);
    expect(session.isClosed()).toBe(false);
    expect(agent.isClosed()).toBe(false);
    expect(await agent.listSessions()).toContain('known');
    expect(await agent.closeSession('known')).toBe(true);
    expect(await agent.closeSession('known')).toBe(false);
    expect(session.isClosed()).toBe(true);
  });

  it('capabilities are a contract of the module, not of a session', () => {
    const capabilities = sdkCapabilities();
    expect(capabilities.length).toBeGreaterThan(0);
    expect(sdkCapabilities()).toEqual(capabilities);
    expect(capabilities.flatMap((capability) => capability.operations)).toContain('session.tool');
    expect(AGENT_EVENT_TYPES).toContain('tool_output_delta');
  });

  it('a tool is registered and removed on a live session', async () => {
    const session = await open();
    await session.registerTool(hostTool('later', (args) => `got ${JSON.stringify(args)}`));
    expect(session.toolNames()).toContain('later');
    expect((await session.tool('later', { n: 1 })).output).toBe('got {"n":1}');
    expect(await session.unregisterTool('later')).toBe(true);
    expect(await session.unregisterTool('later')).toBe(false);
    expect(session.toolNames()).not.toContain('later');
    await expect(session.registerTool(hostTool('read', () => ''))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(session.registerTool(hostTool('bad name', () => ''))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('an agent needs nothing, and wrong options name their field', async () => {
    await using agent = await Agent.create();
    const folder = await workspace();
    await expect(agent.sessionAsync(folder, { hidenTools: [] } as never)).rejects.toMatchObject({
      code: 'SESSION_CONFIGURATION_ERROR',
      details: { field: 'hidenTools' },
    });
    await expect(agent.sessionAsync(`${folder}/missing`)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(agent.sessionAsync(folder, { tools: [{ name: 'x' } as never] })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { argument: 'options.tools[0].handler' },
    });
    await using session = await agent.sessionAsync(folder, { sessionId: undefined, tools: undefined } as never);
    expect(session.toolNames()).toContain('read');
    expect(session.toolNames()).not.toContain('debug_noop');
  });
});

// A session: one workspace and one conversation. Its stubs are generated; here is what the wire cannot say.

import native from '#native';
import type { Agent } from './agent.js';
import type { Client } from './client.js';
import type { CallOptions } from './crossing.js';
import { asArtifact, asJson, asNothing, asToolResult } from './decode.js';
import { SessionMethods } from './generated/session.js';
import type { GitOptions, OpenedSession, WireHostToolSpec, WireSessionOptions } from './generated/types.js';
import type { HostTool } from './host-tool.js';
import type { ToolArtifact, ToolResult } from './result.js';
import { invalid, isPlain } from './wire.js';

/** Options of a session. Every one may be left out; unknown keys are refused. */
export interface SessionOptions extends Omit<WireSessionOptions, 'tools'> {
  /** Tools written in JavaScript. */
  tools?: HostTool[];
}

/** What `git` takes after its command, in order. */
const GIT_POSITIONS = [
  'subcommand',
  'name',
  'path',
  'newBranch',
  'base',
  'force',
  'maxCount',
  'message',
  'includeUntracked',
  'target',
  'ref',
] as const satisfies ReadonlyArray<keyof GitOptions>;

/** A session on a workspace. Close it, or use `await using`. */
export class Session extends SessionMethods {
  /** @internal Handlers by the number under which they were registered. */
  readonly handlers: Map<number, HostTool>;
  /** @internal Its agent lives as long as it does. */
  readonly agent: Agent;

  /** @internal */
  constructor(client: Client, agent: Agent, opened: OpenedSession, handlers: Map<number, HostTool>) {
    super(client, opened.handle);
    this.agent = agent;
    this.handlers = handlers;
    Object.defineProperty(this, 'agent', { enumerable: false });
    Object.defineProperty(this, 'handlers', { enumerable: false });
    client.serve(this);
  }

  /**
   * Fetches the complete original of a cut result while it is retained; null otherwise.
   *
   * @param uri `a3s://tool-output/...` of this session.
   * @throws SESSION_CLOSED after close.
   */
  getArtifact(uri: string): Promise<ToolArtifact | null> {
    return this.invoke('session.getArtifact', { uri }, asArtifact);
  }

  /**
   * Adds a tool; runs that started earlier do not see it.
   *
   * @param tool The tool.
   * @throws INVALID_ARGUMENT when the name is taken, built in or malformed, or the schema is refused.
   */
  async registerTool(tool: HostTool): Promise<void> {
    const spec = describe(tool, 'tool');
    this.handlers.set(spec.hostRef, tool);
    try {
      await this.invoke('session.registerTool', { tool: spec }, asNothing);
    } catch (error) {
      this.handlers.delete(spec.hostRef);
      throw error;
    }
  }

  /**
   * Removes a tool that the application added; true when it was there. A call of it that runs goes on.
   *
   * @param name Name of the tool.
   * @throws INVALID_ARGUMENT for a built-in tool.
   */
  override async unregisterTool(name: string): Promise<boolean> {
    const was = await this.invoke('session.unregisterTool', { name }, asJson<boolean>);
    if (was) {
      for (const [hostRef, tool] of this.handlers) {
        if (tool.name === name) this.handlers.delete(hostRef);
      }
    }
    return was;
  }

  /**
   * Runs one git operation on the workspace's repository: the options, or the command and what it works on, in
   * this order. A failure is a result: look at `exitCode`.
   *
   * @param command `status`, `log`, `branch`, `checkout`, `diff`, `stash`, `remote` or `worktree`; or all options.
   * @param subcommand For `worktree`: `list`, `create` or `remove`.
   * @param name Branch to create, or branch of the worktree.
   * @param path Path of the worktree.
   * @param newBranch Whether `worktree create` makes a new branch; true when left out.
   * @param base Where a new branch starts.
   * @param force Discard changes on `checkout`, or remove a worktree that has some.
   * @param maxCount Most entries of `log`.
   * @param message Message of the stash to create.
   * @param includeUntracked Whether the stash to create takes untracked files.
   * @param target For `diff`: compare with this ref instead of the index.
   * @param ref For `checkout`: what to switch to.
   * @throws INVALID_ARGUMENT for an option that there is not; SESSION_CLOSED after close.
   * Cancelling: Cancels this call; the tool stops and the error is CANCELLED.
   */
  git(options: GitOptions, callOptions?: CallOptions): Promise<ToolResult>;
  git(
    command: string,
    subcommand?: string,
    name?: string,
    path?: string,
    newBranch?: boolean,
    base?: string,
    force?: boolean,
    maxCount?: number,
    message?: string,
    includeUntracked?: boolean,
    target?: string,
    ref?: string,
    callOptions?: CallOptions,
  ): Promise<ToolResult>;
  git(command: string | GitOptions, ...rest: unknown[]): Promise<ToolResult> {
    let options: object = command as GitOptions;
    let callOptions = rest[0];
    if (typeof command === 'string') {
      callOptions = rest[GIT_POSITIONS.length];
      options = { command, ...Object.fromEntries(GIT_POSITIONS.map((key, at) => [key, rest[at]])) };
    }
    return this.invoke('session.git', { options }, asToolResult, callOptions as CallOptions | undefined);
  }

  /** Closes the session at the end of `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Splits options into what crosses and the handlers that stay. */
export function splitOptions(options: SessionOptions | undefined): {
  wire: WireSessionOptions | undefined;
  handlers: Map<number, HostTool>;
} {
  const handlers = new Map<number, HostTool>();
  if (options?.tools === undefined) return { wire: options as WireSessionOptions | undefined, handlers };
  if (!Array.isArray(options.tools)) throw invalid('`options.tools` is not a list', 'options.tools');
  const tools = options.tools.map((tool, at) => {
    const spec = describe(tool, `options.tools[${at}]`);
    handlers.set(spec.hostRef, tool);
    return spec;
  });
  return { wire: { ...options, tools }, handlers };
}

/** A tool as it crosses: everything but its handler. */
function describe(tool: HostTool, place: string): WireHostToolSpec {
  if (typeof tool !== 'object' || tool === null) throw invalid(`\`${place}\` is not an object`, place);
  // An instance of a class has fields of its own business; a written-out object has only what is meant.
  const { handler, ...spec } = isPlain(tool) ? tool : contractFields(tool);
  if (typeof handler !== 'function') {
    throw invalid(`\`${place}.handler\` is not a function`, `${place}.handler`);
  }
  return { ...spec, hostRef: native.nextHostRef() } as WireHostToolSpec;
}

/** The fields that the contract knows, also where they come from a class. */
function contractFields(tool: HostTool): HostTool {
  const { name, description, parameters, capabilities, timeoutMs, handler } = tool;
  return {
    name,
    description,
    parameters,
    handler,
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

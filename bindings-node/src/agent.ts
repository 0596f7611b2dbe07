// An agent: configuration and shared services, from which sessions are opened.

import { Client } from './client.js';
import type { CallOptions } from './crossing.js';
import { asJson, asNothing } from './decode.js';
import { AgentMethods } from './generated/session.js';
import type { OpenedAgent, OpenedSession } from './generated/types.js';
import type { HostTool } from './host-tool.js';
import { Session, splitOptions, type SessionOptions } from './session.js';

/** Where an agent's configuration comes from: a path of an `.acl` file, its text, or an object. */
export type AgentSource = string | object;

/** An agent. Close it, or use `await using`. */
export class Agent extends AgentMethods {
  /** @internal */
  constructor(client: Client, handle: number) {
    super(client, handle);
  }

  /**
   * Opens an agent; it needs no file, key or model.
   *
   * @param source Path of an `.acl` file, inline configuration text, or an object.
   * @throws CONFIG_ERROR when the configuration is wrong; UNSUPPORTED for a source that cannot be served yet.
   */
  static async create(source?: AgentSource, options?: CallOptions): Promise<Agent> {
    return openAgent(Client.shared(), source, options);
  }

  /**
   * Opens a session on a workspace.
   *
   * @param workspace Folder of the workspace; a label for a backend that is not local.
   * @param options Options of the session.
   * @throws SESSION_CONFIGURATION_ERROR with `details.field` for a wrong option; NOT_FOUND when the workspace is missing; HANDLE_CLOSED after close.
   */
  async sessionAsync(workspace: string, options?: SessionOptions, callOptions?: CallOptions): Promise<Session> {
    const { wire, handlers } = splitOptions(options);
    return this.client.call({
      target: this.handle,
      method: 'agent.session',
      args: { workspace, options: wire },
      decode: (message) => this.#opened(asJson<OpenedSession>(message), handlers),
      owner: this,
      options: callOptions,
      abandon: (session) => void session.close().catch(() => {}),
    });
  }

  #opened(opened: OpenedSession, handlers: Map<number, HostTool>): Session {
    return new Session(this.client, this, opened, handlers);
  }

  /** Closes the agent at the end of `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** @internal Opens an agent on a given client. */
export function openAgent(client: Client, source?: AgentSource, options?: CallOptions): Promise<Agent> {
  return client.call({
    target: client.runtime,
    method: 'agent.create',
    args: { source },
    decode: (message) => new Agent(client, asJson<OpenedAgent>(message).handle),
    options,
    abandon: (agent) =>
      void client.call({ target: agent.handle, method: 'agent.close', args: {}, decode: asNothing }).catch(() => {}),
  });
}

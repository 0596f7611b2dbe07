// A3S Code for Node.js: everything an application uses.

import { Client } from './client.js';
import type { SdkCapability } from './generated/types.js';

export { Agent, type AgentSource } from './agent.js';
export type { CallOptions } from './crossing.js';
export { A3SError, type A3SErrorInit } from './error.js';
export * from './generated/errors.js';
export * from './generated/events.js';
export type * from './generated/types.js';
export type { HostTool, OwnedResource, ToolContext, ToolReply } from './host-tool.js';
export { ToolResultTransformPolicy } from './policy.js';
export { ToolResult, type ToolArtifact } from './result.js';
export { Session, type SessionOptions } from './session.js';

/** Lists what the product offers as a contract; does not vary with a session. */
export function sdkCapabilities(): SdkCapability[] {
  const client = Client.shared();
  return client.immediate(client.runtime, 'runtime.sdkCapabilities', {}) as SdkCapability[];
}

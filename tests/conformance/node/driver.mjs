// The Node driver: runs steps through the public API and reports what it saw. The protocol is ../DRIVER.md.

import { createInterface } from 'node:readline';
import { A3SError, Agent } from '../../../bindings-node/dist/esm/index.js';

const state = { agent: undefined, session: undefined, sessions: [] };

/** Thrown for what the API does not have. */
class Unsupported extends Error {}

const VALUE_HELPERS = new Set(['readFile', 'grep', 'bash', 'glob', 'toolNames', 'toolDefinitions', 'getArtifact', 'verifyCommands']);
/** Position of the call options, for helpers that can wait. */
const OPTIONS_AT = { readFile: 2, grep: 1, glob: 1, ls: 1, bash: 1, writeFile: 2, editFile: 4, patchFile: 2, git: 12, gitCommand: 1, verifyCommands: 2 };

function hostTool(name, { output, fail }) {
  return {
    name,
    description: 'conformance tool',
    parameters: { type: 'object' },
    handler: async () => (fail ? { output, success: false } : output),
  };
}

const operations = {
  hello: () => ({ value: { language: 'node' } }),

  async open({ workspace, options, hostTools, model }) {
    if ((model ?? []).length > 0) throw new Unsupported('model clients');
    state.agent ??= await Agent.create();
    const tools = Object.entries(hostTools ?? {}).map(([name, behaviour]) => hostTool(name, behaviour));
    state.session = await state.agent.sessionAsync(workspace, { ...options, tools });
    state.sessions.push(state.session);
    return { value: null };
  },

  async tool({ name, args, interrupt }) {
    return { result: seen(await interrupted(interrupt, (options) => current().tool(name, args, options))) };
  },

  async governedTool({ name, args, interrupt }) {
    return { result: seen(await interrupted(interrupt, (options) => current().governedTool(name, args, options))) };
  },

  async helper({ name, args = [], interrupt }) {
    const session = current();
    if (typeof session[name] !== 'function') throw new Unsupported(`helper ${name}`);
    const call = (options) => {
      const given = [...args];
      const at = name === 'git' && typeof given[0] !== 'string' ? 1 : OPTIONS_AT[name];
      if (options !== undefined && at !== undefined) given[at] = options;
      return session[name](...given);
    };
    const value = await interrupted(interrupt, call);
    if (!VALUE_HELPERS.has(name)) return { result: seen(value) };
    if (name !== 'getArtifact' || value === null) return { value: value ?? null };
    const { bytes, ...record } = value;
    return { value: { ...record, bytesBase64: bytes.toString('base64') } };
  },

  async close() {
    await current().close();
    return { value: null };
  },

  async reset() {
    await state.agent?.close();
    state.agent = undefined;
    state.session = undefined;
    state.sessions = [];
    return { value: null };
  },

  send: () => {
    throw new Unsupported('send');
  },
  stream: () => {
    throw new Unsupported('stream');
  },
  reopen: () => {
    throw new Unsupported('saved sessions');
  },
  modelRequests: () => {
    throw new Unsupported('model clients');
  },
  resume: () => ({ value: null }),
};

function current() {
  if (state.session === undefined) throw new Unsupported('a step before any session was opened');
  return state.session;
}

/** Runs a call; after a while its session is closed, or just the call cancelled, where the step says so. */
async function interrupted(interrupt, call) {
  if (interrupt == null) return call(undefined);
  const session = current();
  const controller = new AbortController();
  let closing;
  const timer = setTimeout(() => {
    if (interrupt.by === 'close') closing = session.close();
    else controller.abort();
  }, interrupt.afterMs);
  try {
    return await call(interrupt.by === 'cancel' ? { signal: controller.signal } : undefined);
  } finally {
    clearTimeout(timer);
    await closing;
  }
}

function seen(result) {
  const { name, output, exitCode, metadata, errorKind } = result;
  return { name, output, exitCode, metadata: metadata ?? null, errorKind: errorKind ?? null };
}

function failure(error) {
  if (error instanceof Unsupported) return { unsupported: error.message };
  if (!A3SError.is(error)) {
    return { error: { code: `HOST:${error?.name ?? typeof error}`, message: String(error?.message ?? error) } };
  }
  const kind = error.details?.errorKind?.type;
  return { error: { code: error.code, ...(kind === undefined ? {} : { kind }), message: error.message } };
}

function answer(id, response) {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify({ id, ...response })}\n`, resolve));
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let request;
  try {
    request = JSON.parse(line);
  } catch (error) {
    console.error(`unreadable line: ${error.message}`);
    continue;
  }
  const operation = operations[request.op];
  let response;
  try {
    if (operation === undefined) throw new Unsupported(`operation ${request.op}`);
    response = await operation(request);
  } catch (error) {
    response = failure(error);
  }
  await answer(request.id, response);
}
await operations.reset();
process.exitCode = 0;

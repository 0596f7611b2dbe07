// JSON rules of the boundary: what may cross, and how an error that comes back becomes an exception.
//
// JSON.stringify repairs silently (NaN to null, a Map to {}); here such a value is an error that names its
// place. Keys whose value is undefined are dropped. Lone surrogates in text cross as escapes and are
// refused on the other side.

import { A3SError, type A3SErrorInit } from './error.js';
import { ERROR_CLASSES, InternalError, InvalidArgumentError } from './generated/errors.js';
import type { ErrorPayload } from './generated/types.js';

const MAX_DEPTH = 128;
const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/;

/**
 * Encodes the arguments of a call.
 *
 * @throws INVALID_ARGUMENT for a BigInt, a function, a symbol, NaN, an infinity, a Map or Set, a cycle, or more than 128 levels.
 */
export function encode(value: unknown): string {
  check(value, 1, []);
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw refused([], `cannot be encoded as JSON: ${messageOf(error)}`, error);
  }
}

type Path = Array<string | number>;

function check(value: unknown, depth: number, path: Path): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refused(path, `is ${value}, which JSON does not have`);
      return;
    case 'object':
      if (value !== null) checkObject(value, depth, path);
      return;
    default:
      throw refused(path, `is a ${typeof value}, which JSON does not have`);
  }
}

function checkObject(value: object, depth: number, path: Path): void {
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return;
  // A cycle is deeper than anything.
  if (depth > MAX_DEPTH) throw refused(path.slice(0, 8), `is nested deeper than ${MAX_DEPTH} levels, or contains itself`);
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      path.push(at);
      if (value[at] === undefined) throw refused(path, 'is undefined inside a list');
      check(value[at], depth + 1, path);
      path.pop();
    }
    return;
  }
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) {
    throw refused(path, `is a ${value.constructor.name}, which JSON does not have`);
  }
  for (const key of Object.keys(value)) {
    path.push(key);
    check((value as Record<string, unknown>)[key], depth + 1, path);
    path.pop();
  }
}

function refused(path: Path, what: string, cause?: unknown): A3SError {
  let where = '';
  for (const part of path) {
    where += typeof part === 'number' ? `[${part}]` : PLAIN_KEY.test(part) ? (where ? `.${part}` : part) : `[${JSON.stringify(part)}]`;
  }
  return invalid(`\`${where || 'the value'}\` ${what}`, where === '' ? undefined : where, cause);
}

/** An INVALID_ARGUMENT of the binding itself. */
export function invalid(message: string, argument?: string, cause?: unknown): A3SError {
  return new InvalidArgumentError({
    code: 'INVALID_ARGUMENT',
    message,
    ...(argument === undefined ? {} : { details: { argument } }),
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Whether an object was written out, so that a key nobody knows is a mistake and not a part of a class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The first key that is none of `allowed`, with a text that says so and names those; undefined values do not count. */
export function unknownKey(value: object, allowed: readonly string[]): { key: string; text: string } | undefined {
  const key = Object.keys(value).find((name) => !allowed.includes(name) && (value as Record<string, unknown>)[name] !== undefined);
  if (key === undefined) return undefined;
  return { key, text: `an unknown key \`${key}\`; known are ${allowed.map((name) => `\`${name}\``).join(', ')}` };
}

/** Refuses text that has no UTF-8 form. */
export function wellFormed(text: string, what: string): string {
  if (!text.isWellFormed()) throw invalid(`${what} holds a lone surrogate, so it has no UTF-8 form`, what);
  return text;
}

/** The bytes of a text that travels beside the JSON. */
export function utf8(text: string, name: string): Buffer {
  if (typeof text !== 'string') throw invalid(`\`${name}\` is not text`, name);
  return Buffer.from(wellFormed(text, name));
}

/** The exception for an error message; `cause` is the application's own error behind it, if any. */
export function errorOf(payload: string, cause?: unknown): A3SError {
  let wire: ErrorPayload;
  try {
    wire = JSON.parse(payload) as ErrorPayload;
  } catch {
    return new InternalError({ code: 'INTERNAL_ERROR', message: `unreadable error from the library: ${payload}` });
  }
  const init: A3SErrorInit = { code: wire.code, message: wire.message, retryable: wire.retryable };
  if (wire.retryAfterMs != null) init.retryAfterMs = wire.retryAfterMs;
  if (wire.details != null) init.details = wire.details as Record<string, any>;
  if (wire.cause !== undefined) init.causes = wire.cause;
  if (cause !== undefined) init.cause = cause;
  const Class = ERROR_CLASSES[wire.code] ?? A3SError;
  return new Class(init);
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  } catch {
    return 'a value that cannot be shown was thrown';
  }
}

// What may cross the boundary, and what may not.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { debugRuntime, open, REPOSITORY } from './support.js';

interface Vector {
  name: string;
  json: string;
  accepted: boolean;
}

const vectors = JSON.parse(
  await readFile(join(REPOSITORY, 'tests/conformance/json/vectors.json'), 'utf8'),
) as Vector[];

describe('golden vectors', () => {
  it('there are some of both kinds', () => {
    expect(new Set(vectors.map((vector) => vector.accepted)).size).toBe(2);
  });

  it.each(vectors)('$name', async ({ json, accepted }) => {
    const echo = debugRuntime().echoText(json);
    if (!accepted) {
      await expect(echo).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      return;
    }
    expect(same(JSON.parse(await echo), JSON.parse(json))).toBe(true);
  });
});

/** Equality that tells -0 from 0. */
function same(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  );
}

describe('values of JavaScript', () => {
  it('JSON and bytes come back as they went', async () => {
    const value = { text: 'grüße 👋 \u0000', list: [1, -1.5, null, true, []], deep: { 'a b': {} }, big: 2 ** 53 - 1 };
    const bytes = Buffer.from([0, 255, 10, 128]);
    const back = await debugRuntime().echo(value, bytes);
    expect(back.value).toEqual(value);
    expect(back.bytes.equals(bytes)).toBe(true);
    expect((await debugRuntime().echo({ a: 1, b: undefined })).value).toEqual({ a: 1 });
    const day = new Date(0);
    expect((await debugRuntime().echo(day)).value).toBe(day.toJSON());
  });

  it('what JSON does not have is refused by place, before anything runs', async () => {
    const session = await open();
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    let deep: unknown = 1;
    for (let at = 0; at < 200; at++) deep = [deep];
    const wrong: Array<[unknown, string | undefined]> = [
      [{ n: 1n }, 'args.n'],
      [{ list: [1, { 'a b': NaN }] }, 'args.list[1]["a b"]'],
      [{ n: -Infinity }, 'args.n'],
      [{ f: () => 1 }, 'args.f'],
      [{ s: Symbol('x') }, 'args.s'],
      [{ m: new Map() }, 'args.m'],
      [{ list: [undefined] }, 'args.list[0]'],
      [{ bytes: new Uint8Array(2) }, 'args.bytes'],
      [cycle, undefined],
      [{ deep }, undefined],
    ];
    for (const [args, argument] of wrong) {
      const error = await session.tool('debug_noop', args as object).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', name: 'InvalidArgumentError' });
      if (argument !== undefined) expect(error).toMatchObject({ details: { argument } });
    }
  });

  it('lone surrogates are refused in values and in keys', async () => {
    for (const value of ['\ud83d', 'x\udc00', { ['\ud800']: 1 }, ['ok', '\udfff\ud800']]) {
      await expect(debugRuntime().echo(value)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('a message of more than 64 MiB is refused', async () => {
    const text = 'x'.repeat(64 * 1024 * 1024);
    await expect(debugRuntime().echo(text)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

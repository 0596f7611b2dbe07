// Reading, listing and searching through the public API.

import { describe, expect, it } from 'vitest';
import { open, rows } from './support.js';

const READ_FILES = {
  'src/lib.rs': 'pub fn one() {}\npub fn two() {}\n',
  'src/config.rs': Array.from({ length: 200 }, (_, n) => `// config ${n}\n`).join(''),
};

describe('read', () => {
  // claims: READ-01
  it('returns several parts in one result', async () => {
    const session = await open(READ_FILES);
    const result = await session.tool('read', {
      files: [{ path: 'src/lib.rs' }, { path: 'src/config.rs', offset: 40, limit: 80 }],
      max_output_bytes: 65536,
    });
    expect(result.exitCode).toBe(0);
    expect(result.output).toContain('pub fn two() {}');
    expect(result.output).toContain('// config 40\n');
    expect(result.output).toContain('// config 119\n');
    expect(result.output).not.toMatch(/\/\/ config (39|120)\n/);
  });

  // claims: READ-03, READ-04, READ-05
  it('keeps the order of the request and reports a missing member in its place', async () => {
    const session = await open({ 'big.txt': rows(3_000), 'small.txt': 'tiny\n' });
    const result = await session.tool('read', {
      files: [{ path: 'big.txt', limit: 50 }, { path: 'gone.txt' }, { path: 'small.txt' }],
    });
    const places = ['row-00000', 'gone.txt', 'tiny'].map((text) => result.output.indexOf(text));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(result.metadata?.batch?.truncated ?? false).not.toBe(true);
  });

  // claims: READ-05, READ-06
  it('a continuation passed on unchanged yields every line exactly once', async () => {
    const session = await open({ 'a.txt': rows(400), 'b.txt': rows(700).replaceAll('row', 'col') });
    let files: unknown = [{ path: 'a.txt' }, { path: 'b.txt' }];
    let text = '';
    for (let page = 0; ; page++) {
      expect(page).toBeLessThan(50);
      const result = await session.tool('read', { files, max_output_bytes: 4096 });
      expect(result.exitCode).toBe(0);
      text += result.output;
      const batch = result.metadata!.batch;
      if (batch.truncated !== true) break;
      files = batch.continuation;
    }
    expect(text.match(/row-\d{5}/g)).toEqual(rows(400).trim().split('\n'));
    expect(text.match(/col-\d{5}/g)).toHaveLength(700);
    expect(new Set(text.match(/col-\d{5}/g)).size).toBe(700);
  });

  // claims: READ-08
  it('a long file is read to its end by its continuation offset', async () => {
    const session = await open({ 'long.txt': rows(30_000) });
    let offset: number | undefined = 0;
    const seen: string[] = [];
    for (let page = 0; offset !== undefined; page++) {
      expect(page).toBeLessThan(60);
      const result = await session.tool('read', { file_path: 'long.txt', offset });
      seen.push(...(result.output.match(/row-\d{5}/g) ?? []));
      const next = continuation(result.metadata!);
      if (next !== undefined) expect(next).toBeGreaterThan(offset);
      offset = next;
    }
    expect(seen).toEqual(rows(30_000).trim().split('\n'));
  });
});

/** Where a read goes on: the offset that its metadata names. */
function continuation(metadata: Record<string, any>): number | undefined {
  return metadata.range.eof === true ? undefined : (metadata.range.next_offset ?? undefined);
}

describe('ls', () => {
  // claims: CTR-07
  it('a cursor followed to the end lists every entry exactly once', async () => {
    const files = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`f-${String(n).padStart(4, '0')}.txt`, '']));
    const session = await open(files);
    const seen: string[] = [];
    let cursor: unknown;
    for (let page = 0; ; page++) {
      expect(page).toBeLessThan(30);
      const result = await session.tool('ls', { limit: 60, ...(cursor === undefined ? {} : { cursor }) });
      expect(result.exitCode).toBe(0);
      seen.push(...(result.output.match(/f-\d{4}\.txt/g) ?? []));
      cursor = result.metadata!.page?.next_cursor ?? undefined;
      if (cursor === undefined) break;
    }
    expect(seen.sort()).toEqual(Object.keys(files));
  });
});

const SOURCES = {
  'README.md': '# Title\nsecond line\n',
  'src/a.rs': 'struct PermissionPolicy;\nfn PermissionPolicies() {}\n',
  'src/deep/b.rs': 'struct Other;\n',
  'src/c.txt': 'PermissionPolicy in text\n',
};

describe('search', () => {
  // claims: SRCH-02
  it('is the only search tool', async () => {
    const names = (await open()).toolNames();
    expect(names).toContain('search');
    expect(names.filter((name) => /grep|glob|bm25|vector|find/i.test(name))).toEqual([]);
  });

  // claims: SRCH-09
  it('grep takes a regular expression and returns the matching lines', async () => {
    const session = await open(SOURCES);
    for (const more of [{}, { output_mode: 'content' }]) {
      const result = await session.tool('search', { mode: 'grep', query: 'Permission(Policy|Nothing);', ...more });
      expect(result.exitCode).toBe(0);
      expect(result.output).toContain('struct PermissionPolicy;');
      expect(result.output).not.toContain('Policies');
      expect(result.output).not.toContain('in text');
    }
  });

  // claims: SRCH-20
  it('glob lists the paths that match', async () => {
    const session = await open(SOURCES);
    const result = await session.tool('search', { mode: 'glob', query: '**/*.rs' });
    expect(result.output).toContain('src/a.rs');
    expect(result.output).toContain('src/deep/b.rs');
    expect(result.output).not.toContain('c.txt');
  });
});

describe('direct helpers', () => {
  // claims: DIRECT-02
  it('glob gives a list of paths', async () => {
    expect(await (await open(SOURCES)).glob('src/**/*.rs')).toEqual(['src/a.rs', 'src/deep/b.rs']);
  });

  // claims: DIRECT-03
  it('grep gives one text of hits', async () => {
    const session = await open(SOURCES);
    const hits = await session.grep('PermissionPolicy');
    expect(hits.split('\n').filter(Boolean)).toEqual([
      'src/a.rs:1:struct PermissionPolicy;',
      'src/c.txt:1:PermissionPolicy in text',
    ]);
    await expect(session.grep('(')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  // claims: DIRECT-05
  it('readFile gives the text, whole or in part', async () => {
    const session = await open(SOURCES);
    expect(await session.readFile('README.md')).toBe(SOURCES['README.md']);
    expect(await session.readFile('README.md', { offset: 1, limit: 1 })).toBe('second line\n');
    await expect(session.readFile('missing.md')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('paths are those of the session, and ls gives a result', async () => {
    const one = await open({ 'same.txt': 'one' });
    const two = await open({ 'same.txt': 'two' });
    expect(await one.readFile('same.txt')).toBe('one');
    expect(await two.readFile('same.txt')).toBe('two');
    const listing = await one.ls();
    expect(listing.exitCode).toBe(0);
    expect(listing.output).toContain('same.txt');
    await expect(one.readFile('../same.txt')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

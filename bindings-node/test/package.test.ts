// The package as an application meets it: both module systems, the types, the loader, the example.

import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as esm from '@a3s-lab/code';
import { buildInfo } from '@a3s-lab/code/testing';
import { PACKAGE, REPOSITORY, workspace } from './support.js';

const start = promisify(execFile);

describe('package', () => {
  it('has the same names for import and require', async () => {
    const cjs = createRequire(import.meta.url)('@a3s-lab/code') as typeof esm;
    expect(Object.keys(cjs).sort()).toEqual(Object.keys(esm).sort());
    const error = new cjs.NotFoundError({ code: 'NOT_FOUND', message: 'x' });
    expect(esm.A3SError.is(error, 'NOT_FOUND')).toBe(true);
    const folder = await workspace({ 'a.txt': 'x' });
    const agent = await cjs.Agent.create();
    const session = await agent.sessionAsync(folder);
    expect(await session.readFile('a.txt')).toBe('x');
    await agent.close();
  });

  it('says which build it is', () => {
    expect(buildInfo()).toMatchObject({ version: '0.1.0', abi: 1, schemaHash: expect.any(String) });
  });

  it('a missing native file is named, with what to do', async () => {
    const folder = await workspace();
    await cp(join(PACKAGE, 'loader.cjs'), join(folder, 'loader.cjs'));
    const failed = await start(process.execPath, [join(folder, 'loader.cjs')]).catch((error: { stderr: string }) => error);
    expect(failed.stderr).toContain(`a3s-code.${process.platform}-${process.arch}`);
    expect(failed.stderr).toContain('npm run build:native');
  });

  it('its types hold for strict consumers of either module system', async () => {
    const source = await readFile(join(PACKAGE, 'test/consumer.ts'), 'utf8');
    // What the README shows may be pasted into a file of TypeScript as it stands.
    const shown = /```js\n(.*?)```/s.exec(await readFile(join(REPOSITORY, 'README.md'), 'utf8'))![1]!;
    const folder = join(PACKAGE, 'node_modules/.consumer');
    for (const type of ['module', 'commonjs']) {
      await mkdir(join(folder, type), { recursive: true });
      await writeFile(join(folder, type, 'package.json'), JSON.stringify({ type }));
      await writeFile(join(folder, type, 'main.ts'), source);
    }
    await mkdir(join(folder, 'node_modules/@a3s-lab/code'), { recursive: true });
    for (const part of ['package.json', 'dist', 'loader.d.cts']) {
      await cp(join(PACKAGE, part), join(folder, 'node_modules/@a3s-lab/code', part), { recursive: true });
    }
    const options = ['--noEmit', '--ignoreConfig', '--strict', '--exactOptionalPropertyTypes', '--module', 'node16', '--target', 'es2022', '--lib', 'es2022,esnext.disposable', '--types', 'node'];
    // It waits at its top, which only a module may.
    await writeFile(join(folder, 'module', 'readme.ts'), shown);
    const files = ['module/main.ts', 'commonjs/main.ts', 'module/readme.ts'].map((file) => join(folder, file));
    const tsc = join(PACKAGE, 'node_modules/typescript/bin/tsc');
    const done = await start(process.execPath, [tsc, ...options, ...files]).catch((error: { stdout: string }) => error);
    expect(done.stdout).toBe('');
  }, 60_000);

  it('no lock file names a place', async () => {
    const lock = await readFile(join(PACKAGE, 'package-lock.json'), 'utf8');
    expect(lock).not.toContain('"resolved"');
    expect(lock).not.toMatch(/node_modules\/(@a3s|a3s|aster)/);
  });

  it('the example of twenty lines runs', async () => {
    const folder = await workspace({ 'README.md': '# Here\n', 'src/a.rs': 'fn main() {}\n' });
    const done = await start(process.execPath, [join(REPOSITORY, 'examples/node/hello.mjs'), folder]);
    expect(done.stderr).toBe('');
    expect(done.stdout).toBe('# Here 1\nbounded_preview 188890\npermission_denied\n');
  });
});

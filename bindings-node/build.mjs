// Builds the native half with cargo and puts it beside the loader. `--release` for a release build,
// `--profile NAME` for another profile.
import { spawnSync } from 'node:child_process';
import { copyFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const given = process.argv.slice(2);
const profile = given.includes('--release')
  ? 'release'
  : given.includes('--profile')
    ? given[given.indexOf('--profile') + 1]
    : 'dev';

const cargo = spawnSync(
  'cargo',
  ['build', '-p', 'a3s-code-node', '--profile', profile, '--message-format', 'json-render-diagnostics'],
  { cwd: here, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: 64 << 20 },
);
if (cargo.status !== 0) process.exit(cargo.status ?? 1);

const artifact = cargo.stdout
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .findLast((message) => message.reason === 'compiler-artifact' && message.target.name === 'a3s_code_node');
const library = artifact?.filenames.find((name) => /\.(so|dylib|dll)$/.test(name));
if (library === undefined) {
  console.error('cargo built no library named a3s_code_node');
  process.exit(1);
}

// A running process may have the old file mapped: replace the name, never the content.
const libc = process.platform === 'linux' ? (process.report.getReport().header.glibcVersionRuntime ? '-gnu' : '-musl') : '';
const target = join(here, `a3s-code.${process.platform}-${process.arch}${libc}.node`);
copyFileSync(library, `${target}.new`);
renameSync(`${target}.new`, target);
console.log(target);

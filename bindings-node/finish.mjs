// The end of `npm run build`: marks the second half of the output as CommonJS, and lets the examples of
// the source tree find the package that was built beside them.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
// The mark begins a scope of its own, so it repeats the one private import.
const cjs = (name, text) => writeFileSync(join(here, 'dist/cjs', name), `${text}\n`);
cjs('package.json', '{ "type": "commonjs", "imports": { "#native": "./native.cjs" } }');
cjs('native.cjs', "module.exports = require('../../loader.cjs');");
cjs('native.d.cts', "import native = require('../../loader.cjs');\nexport = native;");

const examples = join(here, '../examples/node');
if (existsSync(examples)) {
  const scope = join(examples, 'node_modules/@a3s-lab');
  mkdirSync(scope, { recursive: true });
  rmSync(join(scope, 'code'), { recursive: true, force: true });
  symlinkSync('../../../../bindings-node', join(scope, 'code'), 'dir');
}

// Finds the native half. Looks only beside this file: the package is used where it was built.
'use strict';

const { existsSync } = require('node:fs');
const { join } = require('node:path');

const system = `${process.platform}-${process.arch}`;
const files = process.platform === 'linux' ? [`a3s-code.${system}-gnu.node`, `a3s-code.${system}-musl.node`] : [`a3s-code.${system}.node`];
const file = files.find((name) => existsSync(join(__dirname, name)));

if (file === undefined) {
  throw new Error(
    `@a3s-lab/code: the native file \`${files.join('` or `')}\` is missing from ${__dirname}.\n` +
      'Build it in the source tree with `npm run build:native` in `bindings-node` (needs Rust), ' +
      'or copy one built for this platform to that place.',
  );
}

try {
  module.exports = require(join(__dirname, file));
} catch (error) {
  throw new Error(
    `@a3s-lab/code: the native file \`${file}\` does not load on this system ` +
      `(Node ${process.version}, ${process.platform}-${process.arch}): ${error.message}\n` +
      'It was probably built for another system or C library; build it again with `npm run build:native` in `bindings-node`.',
    { cause: error },
  );
}

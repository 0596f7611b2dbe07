import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // What is tested is what ships: the compiled package, loaded by Node and not by the test runner.
    server: { deps: { external: [/\/dist\//, /loader\.cjs$/] } },
  },
});

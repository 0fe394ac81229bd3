import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/setup/database-server.ts'],
    isolate: false,
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A connection error that nobody awaited is a defect, also after the last test.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});

import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { featureTable } from './test/agents/feature-table.ts';
import { troubleReport } from './test/setup/trouble-report.ts';
import { unproved } from './test/spec/unproved.ts';

/** Files that mostly wait for processes of their own; started last, one of them would run on alone at the end. */
const slow = /test\/(agents|chaos|cli|contract|db|escape|live|runtime|api\/skill-registry)/;

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [
      ...sorted.filter((file) => slow.test(file.moduleId)),
      ...sorted.filter((file) => !slow.test(file.moduleId)),
    ];
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/setup/database-server.ts'],
    reporters: ['default', featureTable, troubleReport, unproved],
    isolate: false,
    pool: 'forks',
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
    // Thousands of tests with real processes on a small machine: what fails once is repeated, and named at the end.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});

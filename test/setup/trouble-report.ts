import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Names, after everything else, what failed and what passed only when it was repeated, so that neither is lost among
 * thousands of lines. With REPLICA_TEST_REPORT it goes to the end of that file too, for who runs more than tests.
 */
export const troubleReport: Reporter = {
  onTestRunEnd(modules: readonly TestModule[], errors): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const broken = modules.flatMap((module) =>
      module.errors().map(({ message }) => `${module.relativeModuleId}\n    ${firstLines(message)}`),
    );
    const failed = tests.filter((test) => test.result().state === 'failed').map(describeFailure);
    const repeated = tests
      .filter((test) => test.result().state === 'passed' && (test.diagnostic()?.retryCount ?? 0) > 0)
      .map(nameOf);
    const stray = errors.map(({ message }) => firstLines(message));
    const report = [
      ...list('Failed', [...broken, ...failed]),
      ...list('Failed outside of a test', stray),
      ...list('Passed only when repeated', repeated),
    ].join('\n');
    if (report === '') return;
    process.stdout.write(`${report}\n`);
    const file = process.env.REPLICA_TEST_REPORT;
    if (file) appendFileSync(file, `${report}\n`);
  },
};

function list(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : ['', `${title}:`, ...entries.map((entry) => `  ${entry}`)];
}

function describeFailure(test: TestCase): string {
  const reasons = test.result().errors?.map(({ message }) => `\n    ${firstLines(message)}`) ?? [];
  return `${nameOf(test)}${reasons.join('')}`;
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

function firstLines(message: string): string {
  return message.split('\n').slice(0, 12).join('\n    ').slice(0, 2_000);
}

import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { root } from './coverage.ts';
import type { Proof } from './rule.ts';
import { sections } from './sections.ts';

type Outcomes = Map<string, { title: string; state: string }[]>;

/**
 * Names the rules of the specification that a run has not proved: a test that was left out or failed proves nothing.
 * Rules whose files were not all in the run are passed over.
 */
export const unproved: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    // Whoever names tests leaves out all others on purpose.
    if (modules[0]?.project.vitest.config.testNamePattern) return;
    const outcomes = outcomesOf(modules);
    const lines = sections
      .flatMap(({ rules }) => rules)
      .filter(({ proof }) => proof.every(({ file }) => outcomes.has(file)))
      .flatMap(({ id, proof }) =>
        proof
          .map((each) => ({ ...each, states: statesOf(each, outcomes) }))
          .filter(({ states }) => !states.has('passed') || states.has('failed'))
          .map(({ test, states }) => `  ${id}: “${test}” (${[...states].join(', ') || 'absent'})`),
      );
    if (lines.length === 0) return;
    process.stdout.write(`\nRules of the specification that this run does not prove:\n${lines.join('\n')}\n`);
  },
};

function outcomesOf(modules: readonly TestModule[]): Outcomes {
  return new Map(
    modules.map((module) => [
      path.relative(root, module.moduleId),
      [...module.children.allTests()].map((test) => ({ title: test.fullName, state: test.result().state })),
    ]),
  );
}

/** How the tests under a title ended; a title with gaps stands for all that fill them. */
function statesOf({ file, test }: Proof, outcomes: Outcomes): Set<string> {
  const parts = test
    .split(/…|%[a-zA-Z#]|\$\w+/)
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const pattern = new RegExp(`^${parts.join('.*')}$`, 's');
  const matching = outcomes.get(file)?.filter(({ title }) => pattern.test(title)) ?? [];
  return new Set(matching.map(({ state }) => state));
}

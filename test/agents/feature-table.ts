import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { agentFeatures } from './agent-under-test.ts';

/** Prints agents × features after the cases of `conformance.ts`: what was shown, what failed, what an agent has not. */
export const featureTable: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const outcomes = new Map<string, Map<string, TestCase[]>>();
    for (const module of modules)
      for (const test of module.children.allTests()) {
        const { parent: feature } = test;
        const agent = feature.type === 'suite' && feature.parent.type === 'suite' ? feature.parent : null;
        const name = /^the agent (\w+)$/.exec(agent?.name ?? '')?.[1];
        if (!name || feature.type !== 'suite') continue;
        const features = outcomes.get(name) ?? new Map<string, TestCase[]>();
        features.set(feature.name, [...(features.get(feature.name) ?? []), test]);
        outcomes.set(name, features);
      }
    const agents = [...outcomes.keys()].sort();
    if (agents.length === 0) return;
    const line = (cells: string[]) =>
      print(
        cells
          .map((cell) => cell.padEnd(14))
          .join('')
          .trimEnd(),
      );
    print('');
    line(['feature', ...agents]);
    for (const feature of agentFeatures)
      line([feature, ...agents.map((agent) => verdict(outcomes.get(agent)?.get(feature) ?? []))]);
    print(
      '\nNumbers are cases that were shown with the real program (cursor: with a stand-in of its SDK); "-" is what an agent has not.\n',
    );
  },
};

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function verdict(tests: readonly TestCase[]): string {
  const states = tests.map((test) => test.result().state);
  if (states.includes('failed')) return 'FAILED';
  const passed = states.filter((state) => state === 'passed').length;
  return passed > 0 ? `yes (${passed})` : '-';
}

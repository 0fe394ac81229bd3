import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import { guideAgents } from './agent-guidance.ts';
import { type AgentStage, openAgentStage } from './agent-stage.ts';
import { type AgentCase, type AgentUnderTest, agentFeatures } from './agent-under-test.ts';
import { troubleCases } from './trouble-cases.ts';
import { workCases } from './work-cases.ts';

/**
 * Registers the same cases for each agent, so that what one can do all can do, or say that they cannot. Its own ones come
 * on top.
 */
export function agentCases(name: string, agent: AgentUnderTest, ownCases: AgentCase[] = []): void {
  describe(`the agent ${name}`, () => {
    let stage: AgentStage;
    beforeAll(async () => {
      stage = await openAgentStage({ ...agent, programs: agent.programs() });
      guideAgents(stage);
    });
    afterEach(() => stage?.endChats(), CLOSE_MS);
    afterAll(() => stage?.close(), CLOSE_MS);
    // By feature, so that a table of agents and features can be made of the outcomes.
    const cases = Object.groupBy([...workCases, ...troubleCases, ...ownCases], ({ feature }) => feature);
    for (const feature of agentFeatures.filter((one) => cases[one]))
      describe(feature, () => {
        for (const { name, run } of cases[feature] ?? [])
          test.skipIf(!agent.features[feature])(name, () => run(stage, agent), CASE_MS);
      });
  });
}

/** Some agents need seconds of computing to start, and a case may start several. */
const CASE_MS = 120_000;
const CLOSE_MS = 30_000;

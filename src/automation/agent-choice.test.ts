import { describe, expect, test } from 'vitest';
import { choiceRefusal, isForeignModel } from './agent-choice.ts';

const choice = (agent_provider: string | null, model: string | null = null, goal_mode = false) => ({
  agent_provider,
  model,
  goal_mode,
});

describe('an agent, its model and its modes', () => {
  test.each([
    [choice(null), null],
    [choice('claude'), null],
    [choice('claude', 'claude-sonnet-4-5'), null],
    [choice('codex', null, true), null],
    [choice(null, 'claude-sonnet-4-5'), /needs agent_provider/],
    [choice(null, null, true), /codex only/],
    [choice('claude', null, true), /codex only/],
  ])('%j is refused with %s', (given, refusal) => {
    if (refusal === null) expect(choiceRefusal(given)).toBeNull();
    else expect(choiceRefusal(given)).toMatch(refusal);
  });
});

describe("a model's name", () => {
  test.each([
    ['claude', 'claude-sonnet-4-5', false],
    ['claude', 'my-own-model', false],
    ['claude', 'gpt-5', true],
    ['claude', 'GPT-5', true],
    ['claude', 'o3', true],
    ['claude', 'opus', false],
    ['codex', 'claude-opus-4', true],
    ['codex', 'gpt-5', false],
    ['cursor', 'gpt-5', false],
    ['cursor', 'claude-opus-4', false],
    ['opencode', 'claude-opus-4', false],
    [null, 'gpt-5', false],
  ])('of %s, %s is of another provider: %s', (agent, model, isForeign) => {
    expect(isForeignModel(choice(agent, model))).toBe(isForeign);
  });
});

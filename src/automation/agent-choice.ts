import type { CodingAgent } from '../contract/message.ts';

type Choice = { agent_provider: string | null; model: string | null; goal_mode: boolean };

/** How the names of models begin that an agent cannot have from its own provider. */
const foreign: Partial<Record<CodingAgent, RegExp>> = {
  claude: /^(?:gpt-|chatgpt-|codex-|o\d)/i,
  codex: /^claude-/i,
};

/** Why an agent, its model and its modes do not go together, or null. */
export function choiceRefusal({ agent_provider: agent, model, goal_mode }: Choice): string | null {
  if (model !== null && agent === null) return 'A model needs agent_provider, the agent whose model it is.';
  if (goal_mode && agent !== 'codex') return 'goal_mode is for codex only; set agent_provider to codex.';
  return null;
}

/** Whether a model is clearly another provider's than the agent's. */
export function isForeignModel({ agent_provider: agent, model }: Choice): boolean {
  return model !== null && foreign[agent as CodingAgent]?.test(model) === true;
}

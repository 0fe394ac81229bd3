import type { TurnFailureKind } from '../protocol.ts';
import { AgentFailure } from './agent.ts';

/** Why a model provider did not answer: by its HTTP status, or null when there was no answer at all. */
export function modelFailure({ status, message }: { status: number | null; message: string }): AgentFailure {
  const kind = kindOf(status);
  const said = message.trim().slice(0, MAX_CHARACTERS);
  return new AgentFailure(said === '' ? sentences[kind] : `${sentences[kind]} It says: ${said}`, { kind });
}

type ModelFailureKind = Extract<TurnFailureKind, `model_${string}` | 'budget_reached'>;

const MAX_CHARACTERS = 2_000;

const sentences: Record<ModelFailureKind, string> = {
  model_unauthorized: 'The model provider refused the key, or there is none. Check the key of this agent.',
  model_refused: 'The model provider refused the request. Choose another model or change the message.',
  model_overloaded:
    'The model provider has too much to do, or a limit of the account is reached. Try again later.',
  model_unreachable: 'The model provider cannot be reached, or has trouble of its own. Try again later.',
  budget_reached: 'What may be spent on models is spent. Raise the limit, or wait until it begins anew.',
};

function kindOf(status: number | null): ModelFailureKind {
  if (status === 401 || status === 403) return 'model_unauthorized';
  if (status === 402) return 'budget_reached';
  if (status === 429 || status === 529) return 'model_overloaded';
  const isRefused = status !== null && status >= 400 && status < 500 && !worthAnotherTry.has(status);
  return isRefused ? 'model_refused' : 'model_unreachable';
}

/** A request that came too slowly, or at a bad moment. */
const worthAnotherTry = new Set([408, 425]);

import type { ThinkingLevel, TurnRequest } from '../../protocol.ts';
import type { JsonObject } from '../agent.ts';
import { objectAt, objectsAt, textAt } from '../json-fields.ts';
import { KNOWN_PROVIDER, OTHER_PROVIDER } from './opencode-config.ts';

/** The model when nobody names one: it is in opencode's own list and can think at every level. */
export const USUAL_MODEL = 'anthropic/claude-sonnet-5';

/** The models that an opencode process can use, each with the names of its variants. */
export type OpencodeModels = { known: ReadonlyMap<string, string[]>; other: ReadonlyMap<string, string[]> };

export type ModelChoice = {
  provider: string;
  model: string;
  /** Null for how hard the model thinks by itself. */
  variant: string | null;
  /** Fast mode was asked for and this model has none. */
  lacksFast: boolean;
};

/** Reads the answer to `GET /config/providers`. */
export function readModels(answer: JsonObject): OpencodeModels {
  const modelsOf = (id: string) => {
    const provider = objectsAt(answer, 'providers').find((provider) => textAt(provider, 'id') === id) ?? {};
    const models = objectAt(provider, 'models');
    return new Map(
      Object.keys(models).map((name) => [name, Object.keys(objectAt(objectAt(models, name), 'variants'))]),
    );
  };
  return { known: modelsOf(KNOWN_PROVIDER), other: modelsOf(OTHER_PROVIDER) };
}

/** Null for a model that has to be declared to a new process first. */
export function chooseModel(
  { model, fastMode, thinkingLevel }: Pick<TurnRequest, 'model' | 'fastMode' | 'thinkingLevel'>,
  { known, other }: OpencodeModels,
): ModelChoice | null {
  const wanted = model ?? USUAL_MODEL;
  // Those that can be fast are in the list a second time, under a longer name.
  const names = fastMode ? [`${wanted}-fast`, wanted] : [wanted];
  for (const name of names) {
    const isKnown = known.has(name);
    const variants = isKnown ? known.get(name) : other.get(name);
    if (variants === undefined) continue;
    return {
      provider: isKnown ? KNOWN_PROVIDER : OTHER_PROVIDER,
      model: name,
      variant: variantFor(thinkingLevel, variants),
      lacksFast: fastMode && name === wanted,
    };
  }
  return null;
}

/** From the strongest on. A variant of another name cannot be compared with these. */
const strengths = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal'];

function variantFor(level: ThinkingLevel, variants: readonly string[]): string | null {
  const wanted = level === 'max' ? strengths : [level];
  return wanted.find((name) => variants.includes(name)) ?? null;
}

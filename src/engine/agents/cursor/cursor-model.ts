import type { ThinkingLevel } from '../../protocol.ts';
import { efforts } from '../thinking-level.ts';
import type { CursorModel, CursorModelParameter, CursorModelSelection } from './cursor-sdk.ts';

export type CursorChoice = {
  selection: CursorModelSelection;
  /** A sentence for the user about what the model cannot do; null when it can do all that is wanted. */
  notice: string | null;
};

/**
 * The model for a message, with all of its parameters as Cursor itself would set them, but for how hard it thinks and how
 * fast it is. Models differ in what can be set, and in the words for it. Whether there is such a model at all is for the
 * SDK to say, which knows those that it offers instead.
 */
export function chooseCursorModel(
  models: readonly CursorModel[],
  wanted: { model: string | null; thinkingLevel: ThinkingLevel; fastMode: boolean },
): CursorChoice {
  const { model, thinkingLevel, fastMode } = wanted;
  const known = model === null ? usualModel(models) : findModel(models, model);
  if (known === undefined) return { selection: { id: model ?? USUAL_ID }, notice: null };
  const { id, displayName, parameters = [], variants = [] } = known;
  const params = new Map<string, string>();
  for (const usual of variants.find(({ isDefault }) => isDefault)?.params ?? [])
    params.set(usual.id, usual.value);
  const effort = parameters.find((parameter) => /effort|reasoning/.test(parameter.id));
  const level = levelNames[thinkingLevel].find((name) => effort?.values.some(({ value }) => value === name));
  if (effort !== undefined && level !== undefined) params.set(effort.id, level);
  const canBeFast = parameters.some((parameter) => parameter.id === 'fast');
  if (canBeFast) params.set('fast', String(fastMode));
  return {
    selection: { id, ...(params.size > 0 && { params: [...params].map(toParameter) }) },
    notice: fastMode && !canBeFast ? `The model ${displayName} has no fast mode.` : null,
  };
}

/** What Cursor lists first, and lets choose among the others. */
const USUAL_ID = 'auto';

function usualModel(models: readonly CursorModel[]): CursorModel | undefined {
  return models.find(({ id, displayName }) => id === USUAL_ID || displayName === 'Auto') ?? models[0];
}

function findModel(models: readonly CursorModel[], name: string): CursorModel | undefined {
  return models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases?.includes(name));
}

/** What models call each level, the best name first. */
const levelNames: Record<ThinkingLevel, readonly string[]> = {
  low: [efforts.cursor.low, 'minimal'],
  medium: [efforts.cursor.medium],
  high: [efforts.cursor.high],
  max: [efforts.cursor.max, 'xhigh', 'extra-high', efforts.cursor.high],
};

function toParameter([id, value]: [string, string]): CursorModelParameter {
  return { id, value };
}

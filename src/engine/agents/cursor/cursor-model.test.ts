import { describe, expect, test } from 'vitest';
import { chooseCursorModel } from './cursor-model.ts';
import type { CursorModel } from './cursor-sdk.ts';

const valued = (id: string, ...values: string[]) => ({ id, values: values.map((value) => ({ value })) });
const auto: CursorModel = {
  id: 'auto-smart',
  displayName: 'Auto',
  parameters: [valued('optimize_for', 'cost', 'balanced')],
  variants: [
    { params: [{ id: 'optimize_for', value: 'cost' }] },
    { params: [{ id: 'optimize_for', value: 'balanced' }], isDefault: true },
  ],
};
const opus: CursorModel = {
  id: 'claude-opus',
  displayName: 'Opus',
  aliases: ['opus'],
  parameters: [
    valued('thinking', 'false', 'true'),
    valued('effort', 'low', 'medium', 'high', 'max'),
    valued('fast', 'false', 'true'),
  ],
  variants: [
    {
      params: [
        { id: 'thinking', value: 'true' },
        { id: 'effort', value: 'high' },
        { id: 'fast', value: 'false' },
      ],
      isDefault: true,
    },
  ],
};
const gpt: CursorModel = {
  id: 'gpt',
  displayName: 'GPT',
  parameters: [valued('reasoning', 'none', 'low', 'medium', 'high', 'extra-high')],
};
const models = [opus, auto, gpt];
const usual = { model: null, thinkingLevel: 'medium', fastMode: false } as const;

describe('the model', () => {
  test.each([
    [null, 'auto-smart'],
    ['claude-opus', 'claude-opus'],
    ['opus', 'claude-opus'],
    ['unheard-of', 'unheard-of'],
  ])('%s is %s', (model, id) => {
    expect(chooseCursorModel(models, { ...usual, model }).selection.id).toBe(id);
  });

  test('is the first one where none chooses among the others, and Cursor is asked where there is no list', () => {
    expect(chooseCursorModel([gpt, opus], usual).selection.id).toBe('gpt');
    expect(chooseCursorModel([], usual).selection).toEqual({ id: 'auto' });
  });
});

test('what nobody has asked for stays as Cursor sets it', () => {
  expect(chooseCursorModel(models, usual)).toEqual({
    selection: { id: 'auto-smart', params: [{ id: 'optimize_for', value: 'balanced' }] },
    notice: null,
  });
});

test.each([
  ['opus', 'low', 'low'],
  ['opus', 'max', 'max'],
  ['gpt', 'medium', 'medium'],
  ['gpt', 'max', 'extra-high'],
  [null, 'max', undefined],
] as const)('the effort of %s at the level %s is %s', (model, thinkingLevel, effort) => {
  const { params = [] } = chooseCursorModel(models, { ...usual, model, thinkingLevel }).selection;
  expect(params.find(({ id }) => id === 'effort' || id === 'reasoning')?.value).toBe(effort);
});

test.each([
  ['opus', true, 'true', null],
  ['opus', false, 'false', null],
  ['gpt', false, undefined, null],
  ['gpt', true, undefined, 'The model GPT has no fast mode.'],
])('the fast mode of %s, wanted %s, is %s', (model, fastMode, value, notice) => {
  const choice = chooseCursorModel(models, { ...usual, model, fastMode });
  expect(choice.selection.params?.find(({ id }) => id === 'fast')?.value).toBe(value);
  expect(choice.notice).toBe(notice);
});

import { describe, expect, test } from 'vitest';
import { chooseModel, readModels, USUAL_MODEL } from './opencode-model.ts';

const model = (...variants: string[]) => ({
  variants: Object.fromEntries(variants.map((name) => [name, {}])),
});

const models = readModels({
  providers: [
    {
      id: 'openrouter',
      models: {
        [USUAL_MODEL]: model('low', 'medium', 'high', 'xhigh', 'max'),
        'maker/steps': model('none', 'low', 'medium', 'high', 'xhigh'),
        'maker/budget': model('high', 'max'),
        'maker/plain': { variants: {} },
        'maker/quick': model('low'),
        'maker/quick-fast': model('medium'),
      },
    },
    { id: 'router', models: { 'maker/new': model('low', 'medium', 'high'), 'maker/plain': model('high') } },
    { id: 'stranger', models: { 'maker/strange': model('high') } },
  ],
});

const choose = (name: string | null, thinkingLevel: 'low' | 'medium' | 'high' | 'max', fastMode = false) =>
  chooseModel({ model: name, thinkingLevel, fastMode }, models);

describe('the choice of a model', () => {
  test.each([
    ['maker/steps', 'low', 'low'],
    ['maker/steps', 'medium', 'medium'],
    ['maker/steps', 'high', 'high'],
    ['maker/steps', 'max', 'xhigh'],
    ['maker/budget', 'low', null],
    ['maker/budget', 'medium', null],
    ['maker/budget', 'high', 'high'],
    ['maker/budget', 'max', 'max'],
    ['maker/plain', 'max', null],
    ['maker/new', 'max', 'high'],
    [null, 'max', 'max'],
  ] as const)('of %s at level %s takes the variant %s', (name, level, variant) => {
    expect(choose(name, level)).toMatchObject({ model: name ?? USUAL_MODEL, variant });
  });

  test('takes what opencode knows of a model before what was declared of it', () => {
    expect(choose('maker/plain', 'high')).toMatchObject({ provider: 'openrouter', variant: null });
    expect(choose('maker/new', 'high')).toMatchObject({ provider: 'router' });
  });

  test('takes the fast form of a model that has one, and says so when there is none', () => {
    expect(choose('maker/quick', 'medium', true)).toMatchObject({
      model: 'maker/quick-fast',
      variant: 'medium',
      lacksFast: false,
    });
    expect(choose('maker/steps', 'low', true)).toMatchObject({ model: 'maker/steps', lacksFast: true });
    expect(choose('maker/steps', 'low')).toMatchObject({ lacksFast: false });
  });

  test.each(['maker/strange', 'maker/unheard-of', 'constructor'])('is none for %s', (name) => {
    expect(choose(name, 'high')).toBeNull();
  });

  test.each([{}, { providers: null }, { providers: [{ id: 'openrouter' }, 7] }])(
    'reads %j as no models',
    (answer) => {
      expect(readModels(answer).known.size).toBe(0);
    },
  );
});

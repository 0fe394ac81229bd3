import { describe, expect, test } from 'vitest';
import { joinPrompts, layerBy, layerFiles, splitLayers } from './layer.ts';

describe('splitLayers', () => {
  test('gives each environment what is its own, in the order of the ids', () => {
    const items = [
      { environment_id: 'named', key: 'a' },
      { environment_id: 'global', key: 'b' },
      { environment_id: 'named', key: 'c' },
    ];
    expect(splitLayers(items, ['global', 'named', 'bare'])).toEqual([[items[1]], [items[0], items[2]], []]);
  });
});

describe('layerBy', () => {
  const keyed = (text: string) => text.split(' ').map((pair) => ({ key: pair[0] ?? '', value: pair }));
  test.each([
    ['nothing', [], ''],
    ['one layer', ['a1 b1'], 'a1 b1'],
    ['layers that share nothing', ['a1', 'b2'], 'a1 b2'],
    ['a key of both', ['a1 b1', 'b2 c2'], 'a1 b2 c2'],
    ['a layer that replaces everything', ['a1 b1', 'b2 a2'], 'a2 b2'],
  ])('of %s, the highest layer that has a key wins', (_, layers, expected) => {
    const result = layerBy(layers.map(keyed), ({ key }) => key);
    expect(result.map(({ value }) => value).join(' ')).toBe(expected);
  });
});

describe('layerFiles', () => {
  const file = (path: string, from: string) => ({ path, from });
  test('the named environment wins a path, and files come in the order of paths', () => {
    const layers = [
      [file('~/b', 'global'), file('~/a', 'global')],
      [file('~/c', 'named'), file('~/a', 'named')],
    ];
    expect(layerFiles(layers)).toEqual({
      files: [file('~/a', 'named'), file('~/b', 'global'), file('~/c', 'named')],
      problems: [],
    });
  });

  test.each([
    ['a file below a file', '~/a/b', '~/a'],
    ['a file above a file', '~/a', '~/a/b'],
  ])('%s of the named environment gives way and is a problem', (_, below, above) => {
    const { files, problems } = layerFiles([[file(below, 'global')], [file(above, 'named')]]);
    expect(files).toEqual([file(above, 'named')]);
    expect(problems).toEqual([expect.stringContaining(`${below} of the Global environment`)]);
  });

  test('a path that only begins with the same letters stays', () => {
    expect(layerFiles([[file('~/ab', 'global')], [file('~/a', 'named')]]).files).toHaveLength(2);
  });
});

describe('joinPrompts', () => {
  test.each([
    [[], null],
    [[null, '', ' \n'], null],
    [['One.'], 'One.'],
    [['One.', null, 'Two.\n', 'Three.'], 'One.\n\nTwo.\n\nThree.'],
  ])('%j becomes %j', (prompts, expected) => {
    expect(joinPrompts(prompts)).toBe(expected);
  });
});

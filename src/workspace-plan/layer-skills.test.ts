import { expect, test } from 'vitest';
import { layerSkills, type SkillCandidate } from './layer-skills.ts';

const skill = (slug: string, layer: number, changes: Partial<SkillCandidate> = {}): SkillCandidate => ({
  slug,
  layer,
  origin: 'the registry acme/skills',
  files: [{ path: 'SKILL.md', contentBase64: `${slug}@${layer}` }],
  bytes: 10,
  ...changes,
});
const folders = (candidates: SkillCandidate[]) =>
  layerSkills(candidates).skills.map(({ slug, files }) => `${slug}=${files[0]?.contentBase64}`);

test.each<[string, SkillCandidate[], string[]]>([
  ['nothing', [], []],
  ['different skills of both layers', [skill('b', 0), skill('a', 1)], ['a=a@1', 'b=b@0']],
  ['a skill of both layers', [skill('a', 0), skill('a', 1)], ['a=a@1']],
  ['a long slug', [skill('acme/tools/pdf', 1)], ['pdf=acme/tools/pdf@1']],
  [
    'slugs that end alike',
    [skill('acme/pdf', 0), skill('other/pdf', 1), skill('pdf', 0)],
    ['acme-pdf=acme/pdf@0', 'pdf=other/pdf@1', 'pdf-2=pdf@0'],
  ],
])('%s gets one folder each', (_, candidates, expected) => {
  expect(folders(candidates)).toEqual(expected);
  expect(layerSkills(candidates).problems).toEqual([]);
});

test('of two skills of one layer with the same slug the first stays, and the other is a problem', () => {
  const second = skill('a', 1, { origin: 'the registry other/skills', files: [] });
  const { skills, problems } = layerSkills([skill('a', 1), second, skill('a', 0)]);
  expect(skills.map(({ files }) => files.length)).toEqual([1]);
  expect(problems).toEqual([
    'Of the registry other/skills, "a" is left out, because another skill of the environment has the same name.',
  ]);
});

test('what does not fit into 16 MiB is left out, lower layers first, and smaller ones still fit', () => {
  const mebibyte = 1_048_576;
  const { skills, problems } = layerSkills([
    skill('low', 0, { bytes: 9 * mebibyte }),
    skill('high', 1, { bytes: 8 * mebibyte }),
    skill('small', 0, { bytes: 8 * mebibyte }),
  ]);
  expect(skills.map(({ slug }) => slug)).toEqual(['high', 'small']);
  expect(problems).toEqual(['The skills hold more than 16 MiB together, so "low" is left out.']);
});

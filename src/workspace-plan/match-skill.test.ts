import { describe, expect, test } from 'vitest';
import { matchByFolder, matchByTitle } from './match-skill.ts';

const at = (folder: string) => ({ folder, name: folder.split('/').at(-1) || 'tools', files: [], bytes: 0 });
const folders = [at('.claude/skills/pdf'), at('skills/pdf'), at('skills/csv'), at('')];
const pick = (slug: string, changes: { name?: string; folder?: string } = {}) => ({
  slug,
  name: 'Any',
  folder: null,
  ...changes,
});

describe('matchByFolder', () => {
  test.each([
    ['the folder that is named', pick('x', { folder: '.claude/skills/pdf' }), '.claude/skills/pdf'],
    ['the root when it is named', pick('x', { folder: '' }), ''],
    ['nothing else than the named folder', pick('csv', { folder: 'csv' }), null],
    ['the least deep folder of the name', pick('pdf'), 'skills/pdf'],
    ['a folder of the last part', pick('acme/tools/CSV'), 'skills/csv'],
    ['the repository by its own name', pick('tools'), ''],
    ['nothing of another name', pick('acme/pdf-tools'), null],
    ['nothing for a slug of dots', pick('...'), null],
  ])('finds %s', (_, wanted, expected) => {
    expect(matchByFolder(folders, wanted)?.folder ?? null).toBe(expected);
  });
});

describe('matchByTitle', () => {
  const titleOf = ({ folder }: { folder: string }) => (folder === 'skills/csv' ? 'Comma Tables' : '');
  test.each([
    ['by the slug', pick('acme/comma-tables'), 'skills/csv'],
    ['by the name', pick('x', { name: 'comma tables' }), 'skills/csv'],
    ['not at all', pick('x', { name: 'Word' }), null],
  ])('finds a skill %s', (_, wanted, expected) => {
    expect(matchByTitle(folders, wanted, titleOf)?.folder ?? null).toBe(expected);
  });

  test('takes the only one whatever its name', () => {
    expect(matchByTitle([at('odd')], pick('x'), () => '')?.folder).toBe('odd');
    expect(matchByTitle([], pick('x'), () => '')).toBeNull();
  });
});

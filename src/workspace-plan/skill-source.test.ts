import { expect, test } from 'vitest';
import { parseSkillSource } from './skill-source.ts';

const options = {
  catalogUrl: 'https://catalog.example/api/search',
  repositoryHost: 'https://git.example',
};
const parse = (source: string) => {
  const found = parseSkillSource(source, options);
  return found && [found.url, found.branch, found.folder];
};

test.each([
  ['https://catalog.example/acme/tools/pdf', ['https://git.example/acme/tools', null, null]],
  ['https://catalog.example/acme/tools', ['https://git.example/acme/tools', null, null]],
  ['https://catalog.example/acme', null],
  ['https://catalog.example/%E0%A4%A/tools', null],
  ['https://github.com/acme/tools', ['https://github.com/acme/tools', null, null]],
  ['https://github.com/acme/tools.git', ['https://github.com/acme/tools.git', null, null]],
  ['https://github.com/acme/tools/tree/main', ['https://github.com/acme/tools', 'main', null]],
  ['https://github.com/acme/tools/tree/main/a/pdf/', ['https://github.com/acme/tools', 'main', 'a/pdf']],
  ['https://github.com/acme/tools/tree/main/a%20b', ['https://github.com/acme/tools', 'main', 'a b']],
  ['https://github.com/acme/tools/blob/main/pdf/SKILL.md', ['https://github.com/acme/tools', 'main', 'pdf']],
  ['https://github.com/acme/tools/blob/main/SKILL.md', ['https://github.com/acme/tools', 'main', '']],
  ['https://gitlab.com/a/b/c/-/tree/v1/pdf', ['https://gitlab.com/a/b/c', 'v1', 'pdf']],
  ['https://gitlab.com/a/b/-/blob/v1/pdf/SKILL.md', ['https://gitlab.com/a/b', 'v1', 'pdf']],
  ['https://codeberg.org/a/b/src/branch/main/pdf', ['https://codeberg.org/a/b', 'main', 'pdf']],
  ['https://bitbucket.org/a/b/src/main/pdf', ['https://bitbucket.org/a/b', 'main', 'pdf']],
  ['http://127.0.0.1:8000/tools', ['http://127.0.0.1:8000/tools', null, null]],
  ['https://git.example/tree/blob', ['https://git.example/tree/blob', null, null]],
  ['no address', null],
])('%s leads to %j', (source, expected) => {
  expect(parse(source)).toEqual(expected);
});

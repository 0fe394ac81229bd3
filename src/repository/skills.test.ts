import { describe, expect, test } from 'vitest';
import { describeSkill, findRegistrySkills, findRepoSkills, htmlUrl, maxSkills } from './skills.ts';

const files = (...paths: string[]) => paths.map((path) => ({ path, kind: 'file' }));

describe('findRegistrySkills', () => {
  test.each([
    ['SKILL.md', { name: 'repo', framework: null }],
    ['pdf/SKILL.md', { name: 'pdf', framework: null }],
    ['a/b/c/SKILL.md', { name: 'c', framework: null }],
    ['.claude/skills/x/SKILL.md', { name: 'x', framework: 'claude' }],
    ['packages/a/.agents/skills/y/SKILL.md', { name: 'y', framework: 'agents' }],
    ['.codex/SKILL.md', { name: '.codex', framework: 'codex' }],
    ['constructor/SKILL.md', { name: 'constructor', framework: null }],
  ])('%s is a skill', (path, rest) => {
    expect(findRegistrySkills(files(path), 'repo')).toEqual([{ path, kind: 'skill', ...rest }]);
  });

  test.each(['skill.md', 'SKILL.md/x', 'MYSKILL.md', 'SKILL.mdx', '.claude/commands/a.md'])(
    '%s is none',
    (path) => {
      expect(findRegistrySkills(files(path))).toEqual([]);
    },
  );

  test('links and submodules are no skills', () => {
    const entries = [
      { path: 'a/SKILL.md', kind: 'link' },
      { path: 'SKILL.md', kind: 'submodule' },
    ];
    expect(findRegistrySkills(entries)).toEqual([]);
  });

  test('they come in the order of their paths, and not without end', () => {
    const many = Array.from({ length: maxSkills + 5 }, (_, index) => `${String(9999 - index)}/SKILL.md`);
    const found = findRegistrySkills(files(...many)).map((skill) => skill.path);
    expect(found).toEqual([...many].sort().slice(0, maxSkills));
  });
});

describe('findRepoSkills', () => {
  test.each([
    ['SKILL.md', 'skill', null, 'repo'],
    ['.claude/skills/x/SKILL.md', 'skill', 'claude', 'x'],
    ['.claude/commands/x/SKILL.md', 'skill', 'claude', 'x'],
    ['.claude/agents/reviewer.md', 'agent', 'claude', 'reviewer'],
    ['.claude/commands/git/commit.md', 'command', 'claude', 'git/commit'],
    ['.claude/rules/style.md', 'rule', 'claude', 'style'],
    ['.claude/CLAUDE.md', 'rule', 'claude', 'CLAUDE'],
    ['.codex/prompts/plan.md', 'prompt', 'codex', 'plan'],
    ['.codex/agents/helper.toml', 'agent', 'codex', 'helper'],
    ['.codex/AGENTS.md', 'rule', 'codex', 'AGENTS'],
    ['.cursor/rules/a.b.mdc', 'rule', 'cursor', 'a.b'],
    ['.cursor/commands/x.md', 'command', 'cursor', 'x'],
    ['.agents/agents/z.md', 'agent', 'agents', 'z'],
    ['packages/web/.cursor/rules/ui.mdc', 'rule', 'cursor', 'ui'],
  ])('%s is a %s of %s', (path, kind, framework, name) => {
    expect(findRepoSkills(files(path), 'repo')).toEqual([{ path, kind, framework, name }]);
  });

  test.each([
    'agents/reviewer.md',
    '.claude/settings.json',
    '.claude/agents/README.md',
    '.claude/agents/run.sh',
    '.claude/notes/x.md',
    '.claude/agents',
    '.claude/constructor/x.md',
    '.claude/skills/x/agents/y.md',
    '.codex/commands/x.toml',
    'x.claude/agents/y.md',
    '.cursor',
  ])('%s is nothing', (path) => expect(findRepoSkills(files(path))).toEqual([]));
});

describe('describeSkill', () => {
  test.each([
    ['---\nname: pdf\ndescription: Reads PDFs.\n---\nBody', { name: 'pdf', description: 'Reads PDFs.' }],
    [
      '\ufeff---\r\nname: "pdf"\r\ndescription: >\r\n  Reads\r\n  PDFs.\r\n---\r\nBody',
      { name: 'pdf', description: 'Reads PDFs.' },
    ],
    [
      '---\ndescription: Use when: x is y\nname: odd\n---\n',
      { name: 'odd', description: 'Use when: x is y' },
    ],
    ["---\nname: 'q: uoted'\ndescription: a: b\n---\n", { name: 'q: uoted', description: 'a: b' }],
    [
      '---\nname: 42\n---\n# Title\n\nThe first words.\nMore.\n\nLater.',
      { name: '42', description: 'The first words. More.' },
    ],
    ['# Title\nText right below.', { name: 'fallback', description: 'Text right below.' }],
    ['', { name: 'fallback', description: '' }],
    ['---\nname: never closed\n', { name: 'fallback', description: '' }],
    ['---\n- a list\n---\nBody', { name: 'fallback', description: 'Body' }],
    ['---\nname: [a]\ndescription: { b: c }\n---\nBody', { name: 'fallback', description: 'Body' }],
    [
      '---\nname: a\u0000b\u001b[31m\ndescription: "x\\u0000y"\n---\n',
      { name: 'a b [31m', description: 'x y' },
    ],
    ['---\n__proto__: { name: evil }\n---\nBody', { name: 'fallback', description: 'Body' }],
    ['---\na: &a [x]\nb: [*a, *a]\nname: aliased\n---\n', { name: 'aliased', description: '' }],
  ])('%j', (text, expected) => expect(describeSkill(text, 'fallback')).toEqual(expected));

  test.each([
    ['nests without end', `---\n${'['.repeat(16_000)}\n---\nBody`, { name: 'fallback', description: 'Body' }],
    [
      'has too many parts',
      `---\nname: many\n${'x: y\n'.repeat(400)}---\nBody`,
      { name: 'many', description: 'Body' },
    ],
    [
      'is too long',
      `---\nname: far\n${'x: y\n'.repeat(5000)}---\nBody`,
      { name: 'fallback', description: '' },
    ],
  ])('front matter that %s is read as far as it is plain', (_, text, expected) => {
    expect(describeSkill(text, 'fallback')).toEqual(expected);
  });

  test('a file of nothing but line ends and form feeds is read in one pass', () => {
    for (let times = 0; times < 10; times += 1) {
      const text = `${'\f\n'.repeat(30_000)}end`;
      expect(describeSkill(text, 'fallback')).toEqual({ name: 'fallback', description: 'end' });
    }
  });

  test('names and descriptions are cut to a length without breaking a character', () => {
    const { name, description } = describeSkill(
      `---\nname: ${'😀'.repeat(300)}\ndescription: ${'d'.repeat(5000)}\n---\n`,
      'x',
    );
    expect(name.length).toBeLessThanOrEqual(200);
    expect(name.isWellFormed()).toBe(true);
    expect(description).toHaveLength(2000);
  });
});

describe('htmlUrl', () => {
  test.each([
    ['https://github.com/a/b.git', 'main', 'x/SKILL.md', 'https://github.com/a/b/blob/main/x/SKILL.md'],
    [
      'https://github.example.com/a/b/',
      'feature/x',
      'a b#?.md',
      'https://github.example.com/a/b/blob/feature/x/a%20b%23%3F.md',
    ],
    ['https://gitlab.com/g/s/b', 'main', 'SKILL.md', 'https://gitlab.com/g/s/b/-/blob/main/SKILL.md'],
    ['https://gitlab.example.org/g/b.git', 'main', 'é', 'https://gitlab.example.org/g/b/-/blob/main/%C3%A9'],
    ['https://bitbucket.org/a/b', 'main', 'x', 'https://bitbucket.org/a/b/src/main/x'],
    ['https://codeberg.org/a/b', 'main', 'x', 'https://codeberg.org/a/b/src/branch/main/x'],
    ['https://git.example.com/a/b.git', 'main', 'x', 'https://git.example.com/a/b'],
    ['https://notgithub.com/a/b', 'main', 'x', 'https://notgithub.com/a/b'],
    ['file:///srv/a.git', 'main', 'x', 'file:///srv/a'],
  ])('%s on %s at %s is %s', (repositoryUrl, branch, path, expected) => {
    expect(htmlUrl({ repositoryUrl, branch, path })).toBe(expected);
  });
});

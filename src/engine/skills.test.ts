import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installSkills } from './skills.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'replica-skills-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const skill = (slug: string, files: Record<string, string> = { 'SKILL.md': slug }) => ({
  slug,
  files: Object.entries(files).map(([file, text]) => ({
    path: file,
    contentBase64: Buffer.from(text).toString('base64'),
  })),
});
const at = (file: string) => path.join(home, file);

test('skills are found where each agent looks', () => {
  const { installed, warnings } = installSkills(home, [
    skill('review', { 'SKILL.md': 'r', 'lib/a.py': 'a' }),
    skill('team/deploy'),
  ]);
  expect({ installed, warnings }).toEqual({ installed: ['review', 'team/deploy'], warnings: [] });
  for (const agent of ['.claude', '.agents', '.codex', '.cursor']) {
    expect(readFileSync(at(`${agent}/skills/review/lib/a.py`), 'utf8')).toBe('a');
    expect(readFileSync(at(`${agent}/skills/team-deploy/SKILL.md`), 'utf8')).toBe('team/deploy');
  }
});

test('skills that are not in the plan are removed', () => {
  installSkills(home, [skill('old'), skill('kept', { 'SKILL.md': '1', gone: '' })]);
  installSkills(home, [skill('kept', { 'SKILL.md': '2' })]);
  expect(readdirSync(at('.claude/skills'))).toEqual(['kept']);
  expect(readdirSync(at('.claude/skills/kept'))).toEqual(['SKILL.md']);
  installSkills(home, []);
  expect(readdirSync(at('.claude/skills'))).toEqual([]);
});

test('a skill the agent has made for itself stays', () => {
  installSkills(home, [skill('one')]);
  mkdirSync(at('.claude/skills/made'));
  mkdirSync(at('.claude/skills/two'));
  const { installed, warnings } = installSkills(home, [skill('two'), skill('three')]);
  expect(installed).toEqual(['three']);
  expect(warnings).toEqual(['The skill two was not installed: another one has its name.']);
  expect(readdirSync(at('.claude/skills')).sort()).toEqual(['made', 'three', 'two']);
});

test("somebody's own folder keeps its skills and gets links beside them", () => {
  mkdirSync(at('.claude/skills/own'), { recursive: true });
  writeFileSync(at('.claude/skills/own/SKILL.md'), 'mine');
  installSkills(home, [skill('own'), skill('one'), skill('two')]);
  expect(readFileSync(at('.claude/skills/own/SKILL.md'), 'utf8')).toBe('mine');
  expect(readFileSync(at('.claude/skills/one/SKILL.md'), 'utf8')).toBe('one');
  installSkills(home, [skill('two')]);
  expect(readdirSync(at('.claude/skills')).sort()).toEqual(['own', 'two']);
});

test('what the list of installed skills says is not believed', () => {
  installSkills(home, [skill('one')]);
  for (const list of ['["..", ".", "../../x", 1, null]', '{}', 'null', 'garbage']) {
    writeFileSync(at('.replica/installed-skills.json'), list);
    writeFileSync(at('kept'), '');
    installSkills(home, []);
    expect(readdirSync(at('.replica/skills'))).toEqual(['one']);
    expect(existsSync(at('kept'))).toBe(true);
  }
});

test('a link in ~/.replica is not followed, not even to a place in the home directory', () => {
  mkdirSync(at('mine'));
  mkdirSync(at('.replica'));
  symlinkSync('../mine', at('.replica/skills'));
  expect(() => installSkills(home, [skill('one')])).toThrow('skills on the way to it is a link');
  expect(readdirSync(at('mine'))).toEqual([]);
});

test("somebody's own link is left alone", () => {
  mkdirSync(at('elsewhere'));
  mkdirSync(at('.codex'));
  symlinkSync('../elsewhere', at('.codex/skills'));
  installSkills(home, [skill('one')]);
  expect(readlinkSync(at('.codex/skills'))).toBe('../elsewhere');
  expect(readdirSync(at('elsewhere'))).toEqual([]);
});

test.each([['../../escape'], ['/etc/x'], ['a/../b']])('a file named %s is refused with its skill', (name) => {
  const { installed, warnings } = installSkills(home, [skill('bad', { [name]: 'x' }), skill('good')]);
  expect(installed).toEqual(['good']);
  expect(warnings).toEqual([expect.stringMatching(/The skill bad was not installed/)]);
  expect(existsSync(path.join(home, '../escape'))).toBe(false);
});

test('a link that leads out of the home directory is not followed', () => {
  const outside = mkdtempSync(path.join(tmpdir(), 'replica-outside-'));
  symlinkSync(outside, at('.claude'));
  const { warnings } = installSkills(home, [skill('one')]);
  expect(warnings).toEqual([
    expect.stringMatching(/not linked into ~\/\.claude: a link on the way to it leads out/),
  ]);
  expect(readdirSync(outside)).toEqual([]);
  expect(lstatSync(at('.cursor/skills')).isSymbolicLink()).toBe(true);
  rmSync(outside, { recursive: true });
});

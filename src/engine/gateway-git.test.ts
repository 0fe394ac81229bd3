import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { gitConfiguration, gitConfigurationFile, gitVariables } from './gateway-git.ts';
import type { BootRepository } from './protocol.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'replica-git-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const identity = { name: 'Ada "the first" \\ Lovelace', email: 'ada@example.com' };
const repository = (id: string, url: string) => ({ id, url, name: 'app', branch: null, restore: false });

let repositories: BootRepository[] = [];

function git(args: string[], variables: Record<string, string> = {}): string {
  const source = { folder, secret: 's3cret', gatewayPort: 8484 };
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ...variables,
    ...gitVariables(source, { variables, repositories }),
  };
  return execFileSync('git', args, { env, cwd: folder, encoding: 'utf8' }).trim();
}

function write(...urls: string[]): void {
  repositories = urls.map((url, index) => repository(`id-${index}`, url));
  writeFileSync(gitConfigurationFile(folder), gitConfiguration({ identity, repositories }));
}

test.each([
  ['https://git.example/team/app', 'http://127.0.0.1:8484/git/id-0'],
  ['https://git.example/team/app.git', 'http://127.0.0.1:8484/git/id-0'],
  ['https://git.example/team/app/', 'http://127.0.0.1:8484/git/id-0/'],
  ['https://git.example/team/app-web', 'https://git.example/team/app-web'],
  ['https://git.example/team/app-web.git', 'https://git.example/team/app-web.git'],
  ['https://git.example/team/app.github.io', 'https://git.example/team/app.github.io'],
  ['https://git.example/team/app-api', 'http://127.0.0.1:8484/git/id-1'],
  ['https://git.example/team/app-api.git', 'http://127.0.0.1:8484/git/id-1'],
  ['https://git.example/team/other', 'https://git.example/team/other'],
])('git goes from %s to %s', (url, expected) => {
  write('https://git.example/team/app.git', 'https://git.example/team/app-api');
  expect(git(['ls-remote', '--get-url', url])).toBe(expected);
});

test('the identity is a default that ~/.gitconfig overrides', () => {
  write();
  expect(git(['config', 'user.name'])).toBe(identity.name);
  writeFileSync(path.join(folder, '.gitconfig'), '[user]\n\tname = Own\n');
  expect(git(['config', 'user.name'])).toBe('Own');
  expect(git(['config', 'user.email'])).toBe(identity.email);
  rmSync(path.join(folder, '.gitconfig'));
});

test('the secret goes to the gateway and to nobody else', () => {
  write();
  const header = (url: string) => git(['config', '--get-urlmatch', 'http', url]);
  expect(header('http://127.0.0.1:8484/git/id-0')).toBe('http.extraheader Authorization: Bearer s3cret');
  for (const url of [
    'http://127.0.0.1:8485/git/x',
    'http://127.0.0.1:8484/other',
    'https://git.example/git/x',
  ]) {
    expect(() => header(url)).toThrow();
  }
});

test('settings in the variables of the workspace are kept', () => {
  write();
  const variables = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.editor', GIT_CONFIG_VALUE_0: 'vim' };
  expect(git(['config', 'core.editor'], variables)).toBe('vim');
  expect(git(['config', '--get-urlmatch', 'http', 'http://127.0.0.1:8484/git/x'], variables)).toContain(
    's3cret',
  );
});

test('a line break in a name does not become a setting', () => {
  const text = gitConfiguration({
    identity: { name: 'a\n[core]\n\teditor = evil', email: 'x' },
    repositories: [],
  });
  writeFileSync(gitConfigurationFile(folder), text);
  expect(git(['config', 'user.name'])).toContain('editor = evil');
  expect(() => git(['config', 'core.editor'])).toThrow();
});

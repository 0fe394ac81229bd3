import { expect, test } from 'vitest';
import { readRepositoryHooks } from './repository-hooks.ts';

type Source = Parameters<typeof readRepositoryHooks>[0][number];

const hook = (command: string) => ({ commands: [command], timeout: 300_000, separate: true });
const nothing = { path: null, error: null, warmHook: null, startHook: null };
const source = (
  name: string,
  configuration: Partial<Source['configuration']>,
  changes: Partial<Source> = {},
): Source => ({
  id: `id-${name}`,
  name,
  status: 'ready',
  error: null,
  head_commit: 'c0ffee',
  configuration: { ...nothing, ...configuration },
  ...changes,
});
const shown = (name: string, path: string, command: string) => ({
  repository_id: `id-${name}`,
  repository_name: name,
  path,
  ...hook(command),
});

test('hooks of the wanted kind come in the order of the repositories', () => {
  const sources = [
    source('web', { path: 'replica.yaml', warmHook: hook('npm ci'), startHook: hook('npm start') }),
    source('docs', {}),
    source('api', { path: 'replicas.json', warmHook: hook('make') }),
  ];
  expect(readRepositoryHooks(sources, 'warm')).toEqual({
    repository_hooks: [shown('web', 'replica.yaml', 'npm ci'), shown('api', 'replicas.json', 'make')],
    error: null,
  });
  expect(readRepositoryHooks(sources, 'start')).toEqual({
    repository_hooks: [shown('web', 'replica.yaml', 'npm start')],
    error: null,
  });
});

test('no repository has no hooks and no error', () => {
  expect(readRepositoryHooks([], 'warm')).toEqual({ repository_hooks: [], error: null });
});

test('what was read before a repository became unreachable is listed with the reason', () => {
  const away = { status: 'error', error: 'The host does not answer.' };
  expect(
    readRepositoryHooks([source('web', { path: 'replica.json', warmHook: hook('a') }, away)], 'warm'),
  ).toEqual({
    repository_hooks: [shown('web', 'replica.json', 'a')],
    error: 'web: The host does not answer.',
  });
});

test('every repository that could not be read is named, and the others are listed', () => {
  const sources = [
    source('new', {}, { status: 'checking', head_commit: null }),
    source('broken', { path: 'replica.json', error: 'replica.json is not valid JSON.' }),
    source('odd', {}, { status: 'error' }),
    source('good', { path: 'replica.json', startHook: hook('a') }),
  ];
  expect(readRepositoryHooks(sources, 'start')).toEqual({
    repository_hooks: [shown('good', 'replica.json', 'a')],
    error:
      'new: The repository has not been read yet. broken: replica.json is not valid JSON. odd: The repository could not be read.',
  });
});

test('a repository that is being checked again shows what was read before', () => {
  const sources = [source('web', { path: 'replica.json', warmHook: hook('a') }, { status: 'checking' })];
  expect(readRepositoryHooks(sources, 'warm').error).toBeNull();
});

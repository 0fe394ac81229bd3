import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createRepositories } from '../../src/engine/repositories.ts';
import type { GitHost } from '../world/git-host.ts';
import { openWorkshop, type Workshop } from './workshop.ts';

export const soon = () => AbortSignal.timeout(20_000);

export async function openStage() {
  const workshop = await openWorkshop();
  onTestFinished(() => workshop.close());
  return { workshop, repositories: createRepositories(workshop.context) };
}

/** A workspace with the repository `app` of a host, made by `createApp`. */
export async function openApp(host: GitHost, options: { branch?: string | null } = {}) {
  const { workshop, repositories } = await openStage();
  const repository = workshop.bind({ name: 'app', url: host.url('app'), ...options });
  await repositories.prepare(repository, soon());
  return { workshop, repositories, repository, folder: join(workshop.home, 'workspaces/app') };
}

export async function createApp(host: GitHost): Promise<void> {
  const files = { 'README.md': 'hello\n', 'src/a.txt': 'one\ntwo\nthree\n', 'old name': 'x\n' };
  await host.createRepository('app', files);
  await host.createRepository('empty', {});
}

/** git as the agent would use it. */
export function git(workshop: Workshop, folder: string, ...args: string[]): string {
  const dates = { GIT_COMMITTER_DATE: '@9 +0000', GIT_AUTHOR_DATE: '@9 +0000' };
  const env = { ...workshop.context.childEnvironment(), ...dates };
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim();
}

/*
 * A git host on this machine, to try automations without an account anywhere: real git over HTTP, and a stand-in that answers
 * to the few calls of GitHub's API which the service makes. Prints what a shell needs to know, then runs until it is stopped:
 *
 *   node docs/examples/git-host.ts > git-host.sh & sleep 2; . ./git-host.sh
 *
 *   GIT_URL    the repository          GIT_HOST   the host as it stands in that URL
 *   API_URL    where the API begins    GIT_TOKEN  a token it takes
 */
import { startGitHost } from '../../test/world/git-host.ts';
import { startGitHostApi } from '../../test/world/git-host-api.ts';

const token = 'a-token-of-the-git-host';
const name = 'team/app';
const git = await startGitHost();
await git.createRepository(name, { 'README.md': '# App\n' });
const api = await startGitHostApi({ token });

/** The stand-in of the API does not look into repositories; it is told what was pushed. */
async function tellBranches(): Promise<void> {
  const list = await git.git(name, ['for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads']);
  for (const line of list.split('\n')) {
    const [branch = '', commit = ''] = line.split(' ');
    if (branch !== 'main') api.branches.add(branch);
    api.commits.set(branch, commit);
  }
}
const telling = setInterval(() => void tellBranches().catch(() => {}), 200);

async function stop(): Promise<void> {
  clearInterval(telling);
  await Promise.all([git.close(), api.close()]);
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());

const url = git.url(name);
process.stdout.write(`GIT_URL=${url}
GIT_HOST=${new URL(url).host}
API_URL=${api.githubUrl}
GIT_TOKEN=${token}
`);

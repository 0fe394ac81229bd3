import { z } from 'zod';
import { commit, createCallGitHost, type GitHostAccess, instant, pullNumber, webUrl } from './call.ts';
import { type GitHost, GitHostError } from './host.ts';

const pull = z
  .object({ number: pullNumber, html_url: webUrl, head: z.object({ sha: commit }), updated_at: instant })
  .transform(({ number, html_url: url, head, updated_at: changedAt }) => ({
    number,
    url,
    headCommit: head.sha,
    changedAt,
  }));
const comment = z.object({ html_url: webUrl }).transform(({ html_url: url }) => ({ url }));
const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };

/** GitHub's REST API for one repository, given as `owner/name`. */
export function createGitHub(access: GitHostAccess): GitHost {
  const call = createCallGitHost(access, headers);
  const [owner = '', name = ''] = access.fullName.split('/');
  const repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  const pulls = `${repository}/pulls`;

  return {
    async openPullRequest({ title, body, head, base, isDraft }, signal) {
      const draft = { title, body, head, base, draft: isDraft };
      // Said of a branch that has an open one already, and of much else.
      const made = await call({ method: 'POST', path: pulls, body: draft, accept: 422 }, pull, signal);
      if (made.answer) return made.answer;
      const query = new URLSearchParams({ state: 'open', head: `${owner}:${head}`, base });
      const { answer } = await call({ method: 'GET', path: `${pulls}?${query}` }, z.array(pull), signal);
      const [open] = answer ?? [];
      if (open) return open;
      throw new GitHostError(
        `GitHub refuses a pull request from ${head} to ${base}: push the branch first, with commits that ${base} does not have. It says: ${made.said}.`,
      );
    },

    async comment({ number, body }, signal) {
      const path = `${repository}/issues/${number}/comments`;
      const { answer } = await call({ method: 'POST', path, body: { body } }, comment, signal);
      return answer ?? { url: '' };
    },

    async findPullRequests(branch, signal) {
      const query = new URLSearchParams({ state: 'open', head: `${owner}:${branch}`, per_page: '20' });
      const { answer } = await call({ method: 'GET', path: `${pulls}?${query}` }, z.array(pull), signal);
      return answer ?? [];
    },
  };
}

import { z } from 'zod';
import { commit, createCallGitHost, type GitHostAccess, instant, pullNumber, webUrl } from './call.ts';
import { type GitHost, GitHostError } from './host.ts';

const mergeRequest = z
  .object({
    iid: pullNumber,
    web_url: webUrl,
    sha: commit,
    updated_at: instant,
    source_project_id: z.int().nullish(),
    target_project_id: z.int().nullish(),
  })
  .transform(({ iid: number, web_url: url, sha: headCommit, updated_at: changedAt, ...projects }) => ({
    found: { number, url, headCommit, changedAt },
    isFork: projects.source_project_id !== projects.target_project_id,
  }));

/** GitLab's REST API for one project, given by its full path. */
export function createGitLab(access: GitHostAccess): GitHost {
  const call = createCallGitHost(access);
  const mergeRequests = `/projects/${encodeURIComponent(access.fullName)}/merge_requests`;

  return {
    async openPullRequest({ title, body, head, base, isDraft }, signal) {
      const draft = {
        source_branch: head,
        target_branch: base,
        title: isDraft ? `Draft: ${title}` : title,
        description: body,
      };
      // Said of a branch that has an open one already.
      const asked = { method: 'POST', path: mergeRequests, body: draft, accept: 409 } as const;
      const made = await call(asked, mergeRequest, signal);
      if (made.answer) return made.answer.found;
      const query = new URLSearchParams({ state: 'opened', source_branch: head, target_branch: base });
      const path = `${mergeRequests}?${query}`;
      const { answer } = await call({ method: 'GET', path }, z.array(mergeRequest), signal);
      const [open] = answer ?? [];
      if (open) return open.found;
      throw new GitHostError(
        `GitLab refuses a merge request from ${head} to ${base}. It says: ${made.said}.`,
      );
    },

    async comment({ number, body }, signal) {
      const path = `${mergeRequests}/${number}`;
      // A note has no address of its own. What it is made of is asked for first: a comment that was made is never reported
      // as a failure, which would be tried again.
      const { answer: about } = await call({ method: 'GET', path }, mergeRequest, signal);
      const made = { method: 'POST', path: `${path}/notes`, body: { body } } as const;
      const { answer } = await call(made, z.object({ id: z.int() }), signal);
      return { url: `${about?.found.url}#note_${answer?.id}` };
    },

    async findPullRequests(branch, signal) {
      const query = new URLSearchParams({ state: 'opened', source_branch: branch, per_page: '20' });
      const asked = { method: 'GET', path: `${mergeRequests}?${query}` } as const;
      const { answer } = await call(asked, z.array(mergeRequest), signal);
      // A fork may have a branch of the same name.
      return (answer ?? []).flatMap(({ found, isFork }) => (isFork ? [] : [found]));
    },
  };
}

import { z } from 'zod';
import { pullNumber, webUrl } from '../git-host/call.ts';
import type { EventPullRequest } from './event.ts';
import {
  at,
  branchName,
  branchOf,
  commit,
  failure,
  longText,
  reader,
  said,
  shortName,
  textAt,
} from './reading.ts';

const mergeRequestActions: Record<string, string> = {
  open: 'opened',
  reopen: 'reopened',
  close: 'closed',
  merge: 'merged',
};

/** What has happened, as the mapping names it. GitLab says `update` of much that is no change of the code. */
export function gitlabKey(name: string, payload: unknown): string {
  const action = textAt(payload, 'object_attributes', 'action');
  switch (name) {
    case 'merge_request':
      if (action === 'update' && at(payload, 'object_attributes', 'oldrev')) return 'merge_request.updated';
      return `merge_request.${mergeRequestActions[action] ?? 'other'}`;
    case 'issue':
      return action === 'open' ? 'issue.opened' : 'issue.other';
    case 'note':
      return isWritten(payload, action) ? 'note.created' : 'note.other';
    case 'pipeline':
      return `pipeline.${textAt(payload, 'object_attributes', 'status')}`;
    case 'push':
      return /^0+$/.test(textAt(payload, 'after')) ? 'push.deleted' : name;
    default:
      return name;
  }
}

/** Older versions name no action and only tell of new notes; notes that GitLab makes by itself are marked. */
function isWritten(payload: unknown, action: string): boolean {
  return ['', 'create'].includes(action) && at(payload, 'object_attributes', 'system') !== true;
}

const user = z
  .object({ username: shortName })
  .nullish()
  .transform((who) => who?.username ?? null);

const request = z.object({
  iid: pullNumber,
  state: z.string(),
  source_branch: branchName,
  source_project_id: z.number().nullish(),
  target_project_id: z.number().nullish(),
  last_commit: z.object({ id: commit }).nullish(),
});

function pullRequestOf(fields: z.output<typeof request>, url: string): EventPullRequest {
  const { iid: number, state, source_branch, source_project_id, target_project_id, last_commit } = fields;
  const isOwn = source_project_id === target_project_id;
  return {
    number,
    url,
    // A merge request is `locked` while it is being merged.
    state: state === 'merged' || state === 'closed' ? state : 'open',
    headBranch: isOwn ? source_branch : null,
    headCommit: last_commit?.id ?? null,
  };
}

export const readMergeRequest = reader(
  z.object({ user, object_attributes: request.extend({ url: webUrl }) }),
  ({ user: actor, object_attributes: fields }) => {
    const pullRequest = pullRequestOf(fields, fields.url);
    return { actor, pullRequest, commit: pullRequest.headCommit, branch: pullRequest.headBranch };
  },
);

export const readIssue = reader(z.object({ user, object_attributes: z.object({}) }), ({ user: actor }) => ({
  actor,
}));

export const readNote = reader(
  z.object({
    user,
    object_attributes: z.object({ note: longText, url: webUrl }),
    merge_request: request.nullish(),
  }),
  ({ user: actor, object_attributes: { note, url }, merge_request: about }) => {
    const body = note.trim();
    const intro = `${actor ?? 'Somebody'} commented`;
    // A note stands on the page of what it is about.
    const pullRequest = about ? pullRequestOf(about, url.replace(/#.*$/s, '')) : null;
    const remark = pullRequest && said({ kind: 'comment', intro, body, url });
    return { actor, pullRequest, remark, comment: { text: body, url } };
  },
);

export const readPush = reader(
  z.object({ user_username: shortName.nullish(), ref: z.string(), after: commit }),
  ({ user_username: actor, ref, after }) => ({
    actor: actor ?? null,
    commit: after,
    branch: branchOf(ref),
  }),
);

export const readPipeline = reader(
  z.object({
    user,
    object_attributes: z.object({
      id: z.int(),
      sha: commit,
      ref: branchName,
      tag: z.boolean().nullish(),
    }),
    merge_request: z.object({ iid: pullNumber }).nullish(),
    project: z.object({ web_url: webUrl }),
    builds: z
      .array(z.object({ name: shortName, status: z.string(), allow_failure: z.boolean().nullish() }))
      .nullish(),
  }),
  ({ user: actor, object_attributes: { id, sha, ref, tag }, merge_request: about, project, builds }) => {
    const failed = (builds ?? []).filter((job) => job.status === 'failed' && !job.allow_failure);
    const names = failed.slice(0, 50).map((job) => job.name);
    return {
      actor,
      numbers: about ? [about.iid] : [],
      commit: sha,
      branch: tag ? null : ref,
      remark: failure({
        name: 'The pipeline',
        commit: sha,
        details: names.length === 0 ? '' : `Failed jobs: ${names.join(', ')}`,
        url: `${project.web_url}/-/pipelines/${id}`,
      }),
    };
  },
);

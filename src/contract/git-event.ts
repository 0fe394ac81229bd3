import { z } from 'zod';
import type { Operation } from './operation.ts';

/** The largest call GitHub makes. */
const BODY_LIMIT = 26_214_400;
const tag = 'Automations';
const answers = {
  202: z.object({ accepted: z.boolean().describe('False when the event means nothing here.') }),
};
const header = z.string().max(255).optional();

/** What git hosts call. The organization is found by the repository they name, and its secret must fit. */
export const gitEventOperations = {
  receiveGithubEvent: {
    method: 'POST',
    path: '/v1/integrations/github/webhook',
    tag,
    summary: 'Take an event of GitHub',
    description:
      '`X-Hub-Signature-256` is checked over the body with the secret of the git host. An `X-GitHub-Delivery` counts once.',
    access: 'anyone',
    isRaw: true,
    bodyLimit: BODY_LIMIT,
    headers: z.object({
      'x-hub-signature-256': header,
      'x-github-event': header,
      'x-github-delivery': header,
      'x-github-enterprise-host': header,
    }),
    answers,
    errors: ['unauthenticated', 'invalid_request'],
  },
  receiveGitlabEvent: {
    method: 'POST',
    path: '/v1/integrations/gitlab/webhook',
    tag,
    summary: 'Take an event of GitLab',
    description:
      '`X-Gitlab-Token` must be the secret of the git host. What has the same `Idempotency-Key` counts once; without one, what has the same `X-Gitlab-Event-UUID` and body.',
    access: 'anyone',
    isRaw: true,
    bodyLimit: BODY_LIMIT,
    headers: z.object({
      'x-gitlab-token': header,
      'x-gitlab-instance': header,
      'x-gitlab-event-uuid': header,
      'idempotency-key': header,
    }),
    answers,
    errors: ['unauthenticated', 'invalid_request'],
  },
} as const satisfies Record<string, Operation>;

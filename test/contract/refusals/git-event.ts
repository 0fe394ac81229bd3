import type { gitEventOperations } from '../../../src/contract/git-event.ts';
import { withHeaders } from '../call.ts';
import { gitEventExamples } from '../examples/git-event.ts';
import type { Refusals } from '../refusal.ts';

const { receiveGithubEvent: github, receiveGitlabEvent: gitlab } = gitEventExamples;

export const gitEventRefusals: Refusals<typeof gitEventOperations> = {
  receiveGithubEvent: {
    unauthenticated: async (f) =>
      withHeaders(await github(f, 'nobody'), { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }),
    invalid_request: async (f) => ({ ...(await github(f, 'nobody')), body: '{"zen": ' }),
  },
  receiveGitlabEvent: {
    unauthenticated: async (f) => withHeaders(await gitlab(f, 'nobody'), { 'x-gitlab-token': 'guessed' }),
    invalid_request: async (f) => ({ ...(await gitlab(f, 'nobody')), body: '[' }),
  },
};

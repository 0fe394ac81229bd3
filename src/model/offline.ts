import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';

type Parts = {
  isOn: boolean;
  hasCredential(db: Db, key: { organizationId: string; agent: CodingAgent }): Promise<boolean>;
};

/** Whether the scripted model answers an agent of an organization, and what to say about it. */
export function createOfflineModel({ isOn, hasCredential }: Parts) {
  async function answers(db: Db, key: { organizationId: string; agent: CodingAgent }): Promise<boolean> {
    return isOn && key.agent !== 'cursor' && !(await hasCredential(db, key));
  }
  return {
    answers,
    noticeOf: async (db: Db, key: { organizationId: string; agent: CodingAgent }) =>
      (await answers(db, key)) ? notice(key.agent) : null,
  };
}

function notice(agent: CodingAgent): string {
  return `OFFLINE MODEL: ${agent} speaks to a scripted model without intelligence, because the organization has no credential for it. Set one with PUT /v1/organization/coding-agents/${agent}.`;
}

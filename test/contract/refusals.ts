import type { Operations } from '../../src/contract/operations.ts';
import type { Refusals } from './refusal.ts';
import { accountRefusals } from './refusals/account.ts';
import { attachmentRefusals } from './refusals/attachment.ts';
import { automationRefusals } from './refusals/automation.ts';
import { chatRefusals } from './refusals/chat.ts';
import { environmentRefusals } from './refusals/environment.ts';
import { gitEventRefusals } from './refusals/git-event.ts';
import { hookRefusals } from './refusals/hook.ts';
import { previewRefusals } from './refusals/preview.ts';
import { replicaRefusals } from './refusals/replica.ts';
import { repositoryRefusals } from './refusals/repository.ts';
import { terminalRefusals } from './refusals/terminal.ts';
import { webhookRefusals } from './refusals/webhook.ts';

export const refusals: Refusals<Operations> = {
  ...replicaRefusals,
  ...chatRefusals,
  ...previewRefusals,
  ...terminalRefusals,
  ...webhookRefusals,
  ...environmentRefusals,
  ...attachmentRefusals,
  ...hookRefusals,
  ...repositoryRefusals,
  ...gitEventRefusals,
  ...automationRefusals,
  ...accountRefusals,
};

import type { OperationName, Operations } from '../../src/contract/operations.ts';
import type { LooseCall, Who } from './call.ts';
import type { Examples } from './example.ts';
import { accountExamples } from './examples/account.ts';
import { attachmentExamples } from './examples/attachment.ts';
import { automationExamples } from './examples/automation.ts';
import { chatExamples } from './examples/chat.ts';
import { customWebhookExamples } from './examples/custom-webhook.ts';
import { environmentExamples } from './examples/environment.ts';
import { gitEventExamples } from './examples/git-event.ts';
import { hookExamples } from './examples/hook.ts';
import { previewExamples } from './examples/preview.ts';
import { replicaExamples } from './examples/replica.ts';
import { repositoryExamples } from './examples/repository.ts';
import { terminalExamples } from './examples/terminal.ts';
import { warmPoolExamples } from './examples/warm-pool.ts';
import { webhookExamples } from './examples/webhook.ts';
import type { Fixture } from './fixture.ts';

/** An example for every operation; leaving one out does not compile. */
export const examples: Examples<Operations> = {
  ...replicaExamples,
  ...chatExamples,
  ...previewExamples,
  ...terminalExamples,
  ...webhookExamples,
  ...environmentExamples,
  ...attachmentExamples,
  ...hookExamples,
  ...warmPoolExamples,
  ...repositoryExamples,
  ...gitEventExamples,
  ...automationExamples,
  ...customWebhookExamples,
  ...accountExamples,
};

/** The example of an operation whose name is only known at run time. */
export async function exampleOf(name: OperationName, fixture: Fixture, as: Who): Promise<LooseCall> {
  return (await examples[name](fixture, as)) as LooseCall;
}

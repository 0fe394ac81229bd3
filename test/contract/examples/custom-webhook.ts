import type { customWebhookOperations } from '../../../src/contract/automation.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

export const customWebhookExamples: Examples<typeof customWebhookOperations> = {
  fireAutomation: async (f) => ({
    params: { token: await tokenOf(f) },
    headers: { 'x-service-delivery': f.stage.unique('delivery') },
    body: '{"ticket":7}',
  }),
};

/** It waits for a day without calls, so that no test starts a replica with it. */
async function tokenOf(f: Fixture): Promise<string> {
  const { body } = await f.org.call('POST', '/v1/automations', {
    name: f.stage.unique('tickets'),
    prompt: 'Look at the ticket.',
    environment_id: f.plainEnvironmentId,
    triggers: [{ type: 'custom' }],
    debounce_seconds: 86_400,
  });
  return body.automation.webhook_token;
}

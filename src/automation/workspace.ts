import type { Caller } from '../account/caller.ts';
import type { MessageBody } from '../chat/acceptance.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { CreateBody } from '../replica/service.ts';
import type { WebhookTarget } from '../replica/webhook-target.ts';
import type { AutomationRow } from './fire.ts';
import { replicaName } from './replica-name.ts';

/** Who makes the replica of a run: the owner of a personal automation, else nobody. */
export function runnerOf({ organization_id, person_id }: AutomationRow): Caller {
  return {
    organizationId: organization_id,
    kind: person_id === null ? 'org_key' : 'person',
    keyId: null,
    personId: person_id,
    role: 'member',
  };
}

/** The replica that a run begins with. */
export function replicaOf(
  automation: AutomationRow,
  { executionId, prompt, webhook }: { executionId: string; prompt: string; webhook: WebhookTarget | null },
): CreateBody {
  return {
    name: replicaName(automation.name, executionId),
    environment_id: automation.environment_id,
    ...messageOf(automation, prompt),
    coding_agent: agentOf(automation),
    lifecycle_policy: automation.workspace_lifecycle_policy as CreateBody['lifecycle_policy'],
    size: automation.workspace_size as CreateBody['size'],
    config: automation.config as CreateBody['config'],
    ...(webhook && { webhook_url: { url: webhook.url, secret: webhook.secret ?? undefined } }),
  };
}

/** The message that a run sends; the check constraints of the columns allow nothing else than what is named here. */
export function messageOf(automation: AutomationRow, prompt: string): MessageBody {
  return {
    message: prompt,
    coding_agent: agentOf(automation),
    model: automation.model ?? undefined,
    thinking_level: (automation.thinking_level ?? undefined) as MessageBody['thinking_level'],
    plan_mode: automation.plan_mode,
    goal_mode: automation.goal_mode,
    fast_mode: automation.fast_mode,
  };
}

function agentOf({ agent_provider }: AutomationRow): CodingAgent {
  return (agent_provider ?? 'claude') as CodingAgent;
}

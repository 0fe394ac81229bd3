import { accountOperations } from './account.ts';
import { automationOperations, customWebhookOperations } from './automation.ts';
import { canvasOperations } from './canvas.ts';
import { chatOperations } from './chat.ts';
import { codingAgentOperations } from './coding-agent.ts';
import { egressOperations } from './egress.ts';
import { environmentOperations } from './environment.ts';
import { environmentFileOperations } from './environment-file.ts';
import { eventOperations } from './event.ts';
import { gitEventOperations } from './git-event.ts';
import { gitHostOperations } from './git-host.ts';
import { hookOperations } from './hook.ts';
import { hookLogOperations } from './hook-log.ts';
import { mcpOperations } from './mcp.ts';
import { modelUsageOperations } from './model-usage.ts';
import type { Operation } from './operation.ts';
import { previewOperations } from './preview.ts';
import { replicaOperations } from './replica.ts';
import { repositoryOperations } from './repository.ts';
import { repositoryCredentialOperations } from './repository-credential.ts';
import { repositorySetOperations } from './repository-set.ts';
import { sandboxTierOperations } from './sandbox-tier.ts';
import { skillOperations } from './skill.ts';
import { skillRegistryOperations } from './skill-registry.ts';
import { terminalOperations } from './terminal.ts';
import { usageOperations } from './usage.ts';
import { variableOperations } from './variable.ts';
import { warmPoolOperations, warmWorkspaceOperations } from './warm-pool.ts';
import { webhookOperations } from './webhook.ts';

/** Every operation of the API by name. */
export const operations = {
  ...replicaOperations,
  ...chatOperations,
  ...eventOperations,
  ...canvasOperations,
  ...previewOperations,
  ...terminalOperations,
  ...webhookOperations,
  ...hookLogOperations,
  ...environmentOperations,
  ...egressOperations,
  ...variableOperations,
  ...environmentFileOperations,
  ...skillOperations,
  ...skillRegistryOperations,
  ...mcpOperations,
  ...hookOperations,
  ...warmPoolOperations,
  ...warmWorkspaceOperations,
  ...repositoryOperations,
  ...repositorySetOperations,
  ...repositoryCredentialOperations,
  ...codingAgentOperations,
  ...gitHostOperations,
  ...gitEventOperations,
  ...modelUsageOperations,
  ...automationOperations,
  ...customWebhookOperations,
  ...usageOperations,
  ...sandboxTierOperations,
  ...accountOperations,
} as const satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationName = keyof Operations;

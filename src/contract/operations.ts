import { accountOperations } from './account.ts';
import { codingAgentOperations } from './coding-agent.ts';
import { environmentOperations } from './environment.ts';
import { environmentFileOperations } from './environment-file.ts';
import { hookOperations } from './hook.ts';
import { mcpOperations } from './mcp.ts';
import type { Operation } from './operation.ts';
import { repositoryOperations } from './repository.ts';
import { repositoryCredentialOperations } from './repository-credential.ts';
import { repositorySetOperations } from './repository-set.ts';
import { skillOperations } from './skill.ts';
import { skillRegistryOperations } from './skill-registry.ts';
import { variableOperations } from './variable.ts';
import { warmPoolOperations } from './warm-pool.ts';

/** Every operation of the API by name. */
export const operations = {
  ...environmentOperations,
  ...variableOperations,
  ...environmentFileOperations,
  ...skillOperations,
  ...skillRegistryOperations,
  ...mcpOperations,
  ...hookOperations,
  ...warmPoolOperations,
  ...repositoryOperations,
  ...repositorySetOperations,
  ...repositoryCredentialOperations,
  ...codingAgentOperations,
  ...accountOperations,
} as const satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationName = keyof Operations;

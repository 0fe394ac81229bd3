import type { Rule } from './rule.ts';
import { thinkingLevelRules } from './rules/agents.ts';
import { authenticationRules } from './rules/authentication.ts';
import { automationEndpointRules, automationFieldRules } from './rules/automations.ts';
import {
  attachmentEndpointRules,
  environmentEndpointRules,
  warmWorkspaceEndpointRules,
} from './rules/environment-endpoints.ts';
import {
  environmentFieldRules,
  fileRules,
  mcpRules,
  registryRules,
  skillRules,
  variableRules,
  warmPoolRules,
} from './rules/environment-record.ts';
import { errorRules, limitRules, versioningRules } from './rules/errors-and-limits.ts';
import { streamRules, webhookRules } from './rules/events.ts';
import { recordGapRules } from './rules/gaps.ts';
import { incompleteEndpointRules } from './rules/incomplete-endpoints.ts';
import { chatEndpointRules, replicaEndpointRules } from './rules/replica-endpoints.ts';
import {
  canvasItemRules,
  errorBodyRules,
  hookLogRules,
  listItemRules,
  queueRules,
  statusAdditionRules,
} from './rules/replica-record.ts';
import {
  imageRules,
  replicaRequestRules,
  webhookConfigRules,
  workspaceConfigRules,
} from './rules/replica-request.ts';
import { serviceRules } from './rules/service.ts';
import { hookVersionRules, replicaStatusRules, warmWorkspaceStatusRules } from './rules/states.ts';

/** A part of the specification, and how many rows and sentences of it promise something. */
export type Section = { title: string; rows: number; rules: Rule[] };

/** The specification in its order. */
export const sections: Section[] = [
  { title: 'What the service does', rows: 11, rules: serviceRules },
  { title: 'Replica create request', rows: 21, rules: replicaRequestRules },
  { title: 'Images', rows: 4, rules: imageRules },
  { title: 'Workspace configuration', rows: 5, rules: workspaceConfigRules },
  { title: 'Webhook of a replica', rows: 2, rules: webhookConfigRules },
  { title: 'Listed replica', rows: 10, rules: listItemRules },
  { title: 'Error', rows: 1, rules: errorBodyRules },
  { title: 'Queue of a chat', rows: 4, rules: queueRules },
  { title: 'Additions to the status of a replica', rows: 3, rules: statusAdditionRules },
  { title: 'Item of the canvas', rows: 5, rules: canvasItemRules },
  { title: 'Hook logs', rows: 2, rules: hookLogRules },
  { title: 'Environment', rows: 4, rules: environmentFieldRules },
  { title: 'Environment variable', rows: 3, rules: variableRules },
  { title: 'Environment file', rows: 4, rules: fileRules },
  { title: 'Environment skill', rows: 1, rules: skillRules },
  { title: 'Skill registry', rows: 4, rules: registryRules },
  { title: 'MCP server', rows: 8, rules: mcpRules },
  { title: 'Warm pool', rows: 3, rules: warmPoolRules },
  { title: 'Automation', rows: 14, rules: automationFieldRules },
  { title: 'Thinking level', rows: 6, rules: thinkingLevelRules },
  { title: 'Records that the contract settles', rows: 9, rules: recordGapRules },
  { title: 'Status of a replica', rows: 13, rules: replicaStatusRules },
  { title: 'Status of a warm workspace', rows: 2, rules: warmWorkspaceStatusRules },
  { title: 'Versions of hooks', rows: 3, rules: hookVersionRules },
  { title: 'Endpoints of replicas', rows: 12, rules: replicaEndpointRules },
  { title: 'Endpoints of chats and queues', rows: 6, rules: chatEndpointRules },
  { title: 'Endpoints of environments', rows: 5, rules: environmentEndpointRules },
  { title: 'Endpoints of what environments hold', rows: 25, rules: attachmentEndpointRules },
  { title: 'Endpoints of warm workspaces', rows: 1, rules: warmWorkspaceEndpointRules },
  { title: 'Endpoints of automations', rows: 10, rules: automationEndpointRules },
  { title: 'Endpoints that the contract settles', rows: 10, rules: incompleteEndpointRules },
  { title: 'Authentication', rows: 12, rules: authenticationRules },
  { title: 'Webhook events', rows: 15, rules: webhookRules },
  { title: 'Streams', rows: 3, rules: streamRules },
  { title: 'Errors', rows: 7, rules: errorRules },
  { title: 'Limits', rows: 14, rules: limitRules },
  { title: 'Versioning', rows: 6, rules: versioningRules },
];

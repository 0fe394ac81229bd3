import type { z } from 'zod';
import type { automationOperations } from '../contract/automation.ts';
import type { AnswerBody } from '../contract/operation.ts';
import type { ExecutionRow } from './execution-store.ts';
import type { Automation } from './service.ts';
import { triggersOf } from './triggers.ts';

type Presented = AnswerBody<(typeof automationOperations)['getAutomation']>['automation'];
type PresentedExecution = z.output<
  (typeof automationOperations)['listExecutions']['answers'][200]
>['executions'][number];

/** The check constraints of the columns allow nothing else than what is named here. */
export function presentAutomation(row: Automation): Presented {
  return {
    id: row.id,
    organization_id: row.organization_id,
    name: row.name,
    description: row.description,
    triggers: triggersOf(row),
    prompt: row.prompt,
    debounce_seconds: row.debounce_seconds,
    environment_id: row.environment_id,
    enabled: row.enabled,
    disabled_reason: row.disabled_reason,
    ...(row.webhookToken !== null && { webhook_token: row.webhookToken }),
    has_webhook_secret: row.webhook_secret !== null,
    webhook_url: row.callback_url,
    cron_expression: row.cron_expression,
    cron_timezone: row.cron_timezone,
    cron_next_fire_at: row.cron_next_fire_at?.toISOString() ?? null,
    scope: row.person_id === null ? 'org' : 'user',
    user_id: row.person_id,
    created_by: row.created_by,
    workspace_lifecycle_policy: row.workspace_lifecycle_policy as Presented['workspace_lifecycle_policy'],
    workspace_auto_stop_minutes: row.workspace_auto_stop_minutes,
    workspace_size: row.workspace_size as Presented['workspace_size'],
    config: row.config as Presented['config'],
    agent_provider: row.agent_provider as Presented['agent_provider'],
    model: row.model,
    thinking_level: row.thinking_level as Presented['thinking_level'],
    plan_mode: row.plan_mode,
    goal_mode: row.goal_mode,
    fast_mode: row.fast_mode,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function presentExecution(row: ExecutionRow): PresentedExecution {
  return {
    id: row.id,
    automation_id: row.automation_id,
    organization_id: row.organization_id,
    workspace_id: row.replica_id,
    triggered_at: row.triggered_at.toISOString(),
    trigger_type: row.trigger_type,
    trigger_payload: row.trigger_payload,
    status: row.status,
    config: row.config as PresentedExecution['config'],
    error: row.error,
    completed_at: row.completed_at?.toISOString() ?? null,
  };
}

import type { z } from 'zod';
import type { WebhookEventType, webhookEvent } from '../contract/webhook.ts';
import type { TurnSummary } from '../pull-request/turn-summary.ts';
import { publicStatus, type ReplicaState } from '../replica/lifecycle.ts';
import type { ReplicaRow } from '../replica/service.ts';

type Body = z.input<typeof webhookEvent>;
type Subject = Pick<ReplicaRow, 'id' | 'name' | 'state' | 'source' | 'created_at'>;
export type News = {
  [T in WebhookEventType]: Pick<Extract<Body, { type: T }>, 'type' | 'data'>;
}[WebhookEventType];

/** What those outside learn of a replica that has come to this state; null when it is no news for them. */
export function newsOfMove({
  state,
  error_message,
}: Pick<ReplicaRow, 'state' | 'error_message'>): News | null {
  const told: Partial<Record<ReplicaState, News>> = {
    active: { type: 'replica.ready', data: {} },
    deleting: { type: 'replica.deleted', data: {} },
    failed: { type: 'replica.error', data: { message: error_message ?? 'The replica has failed.' } },
  };
  return told[state] ?? null;
}

/** What those outside learn of a turn that has ended. */
export function newsOfTurn(summary: TurnSummary): News {
  const statuses = summary.repository_statuses.map(({ repository, branch, default_branch, pr_urls }) => ({
    repository,
    branch,
    default_branch,
    pr_urls,
  }));
  return {
    type: 'replica.turn_completed',
    data: { repository_statuses: statuses, pr_urls: summary.pr_urls },
  };
}

/** The text that is sent and signed. */
export function webhookBody(event: { id: string; at: Date; replica: Subject; news: News }): string {
  const { id, at, replica, news } = event;
  const body = {
    id,
    type: news.type,
    created_at: at.toISOString(),
    replica: {
      id: replica.id,
      name: replica.name,
      status: publicStatus[replica.state] ?? 'deleted',
      source: replica.source,
      created_at: replica.created_at.toISOString(),
    },
    data: news.data,
  } as Body;
  return JSON.stringify(body);
}

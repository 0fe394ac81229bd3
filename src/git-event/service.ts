import { setImmediate } from 'node:timers/promises';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from '../git/url.ts';
import type { GitHostKind } from '../git-host/host.ts';
import type { GitHostService } from '../git-host/service.ts';
import { enqueue } from '../work/enqueue.ts';
import { keepablePayload } from './keepable-payload.ts';
import { mapEvent } from './mapping.ts';
import { at } from './reading.ts';
import * as store from './store.ts';

/** A call of a git host, of which nothing is known to be true yet. */
export type Delivery = {
  kind: GitHostKind;
  /** The host that says it is calling, which counts where the payload names no repository. */
  host: string;
  /** The host's own name of the event. */
  name: string;
  id: string;
  payload: unknown;
  /** Whether the call was made by somebody who knows the secret. */
  isProvenBy(secret: string): boolean;
};

type Parts = {
  hosts: Pick<GitHostService, 'openWebhookSecret'>;
  inbound: {
    /** Whether the delivery is new to the organization. */
    takeOnce(
      db: Db,
      delivery: { organizationId: string; source: string; deliveryId: string; at: Date },
    ): Promise<boolean>;
  };
  allowPrivateTargets: boolean;
  newId: () => string;
  now: () => Date;
};

export type GitEventService = ReturnType<typeof createGitEventService>;

export const TAKE_TASK = 'git_event.take';

/** Takes what git hosts tell: the repository that an event names leads to organizations, and the secret of one must fit. */
export function createGitEventService({ hosts, inbound, allowPrivateTargets, newId, now }: Parts) {
  /** Answers whether the event is of use here, and keeps it for the worker when it is and was not taken before. */
  async function receive(db: Db, delivery: Delivery): Promise<boolean> {
    const { kind, name, payload } = delivery;
    const listeners = await findListeners(db, delivery);
    const [first] = listeners;
    if (!first || !mapEvent(kind, name, payload)) return false;
    const json = keepablePayload(payload);
    if (json === null) throw new AppError('payload_too_large', 'The event is too large to be kept.');
    for (const [organizationId, rows] of Map.groupBy(listeners, (row) => row.organization_id)) {
      const taken = { organizationId, source: `${kind}:${first.host}`, deliveryId: delivery.id, at: now() };
      if (!(await inbound.takeOnce(db, taken))) continue;
      for (const row of rows) await keep(db, row, delivery, json);
    }
    return true;
  }

  /** Refuses a call that proves the secret of no host of its kind, whatever it says. */
  async function requireSecret(
    db: Db,
    { kind, isProvenBy }: Pick<Delivery, 'kind' | 'isProvenBy'>,
  ): Promise<void> {
    const proven = await findProven(await store.selectSecrets(db, { kind }), isProvenBy);
    if (proven.length === 0) throw unproven();
  }

  /**
   * The repositories that the event is for. There are none when it names none, or one that is not connected, as the hooks
   * of a whole group do; a host would switch off a hook that is refused again and again.
   */
  async function findListeners(db: Db, delivery: Delivery): Promise<store.Listener[]> {
    const { kind, isProvenBy } = delivery;
    const url = parse(repositoryUrlOf(delivery));
    const host = url?.host ?? delivery.host;
    const named = url?.host
      ? await store.selectListeners(db, { kind, host, urlKey: url.key.toLowerCase() })
      : [];
    const listeners = await findProven(named, isProvenBy);
    if (listeners.length > 0) return listeners;
    const proven = await findProven(await store.selectSecrets(db, { kind, host }), isProvenBy);
    if (proven.length === 0) throw unproven();
    return [];
  }

  /** Those whose secret fits. Others are served in between: each proof reads the whole body. */
  async function findProven<Row extends store.SecretRow>(
    rows: readonly Row[],
    isProvenBy: Delivery['isProvenBy'],
  ): Promise<Row[]> {
    const proofs = new Map<string, boolean>();
    for (const row of rows) {
      if (proofs.has(row.id)) continue;
      if (proofs.size > 0) await setImmediate();
      proofs.set(row.id, isProvenBy(hosts.openWebhookSecret(row)));
    }
    return rows.filter(({ id }) => proofs.get(id));
  }

  async function keep(db: Db, row: store.Listener, delivery: Delivery, json: string): Promise<void> {
    const { organization_id, repository_id } = row;
    const { kind, name, id: delivery_id } = delivery;
    const said = { kind, name, delivery_id, payload: json, at: now() };
    await store.insertEvent(db, { id: newId(), organization_id, repository_id, ...said });
    await request(db, repository_id);
  }

  /** Adds the job that hands on the events of a repository, one after the other. */
  async function request(db: Db, repositoryId: string): Promise<void> {
    const name = `${TAKE_TASK}:${repositoryId}`;
    await enqueue(db, { name: TAKE_TASK, payload: { repository_id: repositoryId }, key: name, queue: name });
  }

  function parse(text: unknown): GitUrl | null {
    if (typeof text !== 'string') return null;
    try {
      return parseGitUrl(text, { allowPrivateTargets });
    } catch (error) {
      if (error instanceof GitUrlError) return null;
      throw error;
    }
  }

  return { requireSecret, receive, request };
}

/** One refusal for a wrong secret and none at all, whoever has connected the repository. */
function unproven(): AppError {
  return new AppError(
    'unauthenticated',
    'The event does not prove the secret of its git host, which an admin sets with PUT /v1/organization/git-hosts/{host}.',
  );
}

function repositoryUrlOf({ kind, payload }: Delivery): unknown {
  if (kind === 'github') return at(payload, 'repository', 'clone_url');
  return at(payload, 'project', 'git_http_url') ?? at(payload, 'project', 'http_url');
}

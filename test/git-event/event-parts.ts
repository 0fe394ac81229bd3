import { randomBytes } from 'node:crypto';
import { createExecutions } from '../../src/automation/executions.ts';
import { createFiring } from '../../src/automation/firing.ts';
import { createListen } from '../../src/automation/listen.ts';
import type { Db } from '../../src/db/database.ts';
import type { TakenEvent } from '../../src/git-event/event.ts';
import { createGitEventService } from '../../src/git-event/service.ts';
import { gitEventTasks } from '../../src/git-event/worker.ts';
import { createGitHostService } from '../../src/git-host/service.ts';
import { createInboundService } from '../../src/inbound/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { createOwnComments } from '../../src/pull-request/own-comments.ts';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import type { Tasks } from '../../src/work/task.ts';

export type Taker = (tx: Db, taken: TakenEvent) => Promise<void>;

/** What takes events and hands them on to automations, on a database. */
export function createEventParts(db: Db, now: () => Date) {
  const sealer = createSealer(parseKeyRing(randomBytes(32).toString('base64')));
  const parts = { sealer, allowPrivateTargets: false, newId, now };
  const hosts = createGitHostService(parts);
  const gitEvents = createGitEventService({ ...parts, hosts, inbound: createInboundService({ now }) });
  const firing = createFiring({ executions: createExecutions({ newId, now }), now });
  const isOwnComment = createOwnComments({ now }).isOwn;
  return {
    sealer,
    hosts,
    gitEvents,
    listen: createListen({ firing, pullRequests: { isOwnComment } }),
    tasksFor: (takers: readonly Taker[]): Tasks => gitEventTasks({ db, gitEvents, takers, now }),
  };
}

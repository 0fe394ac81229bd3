import type { Db } from '../db/database.ts';
import type { TakenEvent } from '../git-event/event.ts';
import type { PullRequestService } from '../pull-request/service.ts';
import type { AutomationRow, Fire } from './fire.ts';
import { selectListening } from './listen-store.ts';
import { matchEvent } from './match.ts';
import { triggersOf } from './triggers.ts';

type Parts = {
  firing: { fire(tx: Db, automation: AutomationRow, fire: Fire): Promise<void> };
  pullRequests: Pick<PullRequestService, 'isOwnComment'>;
};

/** Lets the automations of an organization run that an event of a git host sets off. */
export function createListen({ firing, pullRequests }: Parts) {
  return async function listen(tx: Db, taken: TakenEvent): Promise<void> {
    const { organizationId, repositoryId, deliveryId, event, payload } = taken;
    if (event.triggers.length === 0) return;
    const { kind: triggerType, comment } = event;
    // A replica that comments would set off the next one, which comments, without end.
    if (comment && (await pullRequests.isOwnComment(tx, { organizationId, repositoryId, comment }))) return;
    for (const { boundRepositoryIds, ...row } of await selectListening(tx, { organizationId, triggerType })) {
      const matched = matchEvent(triggersOf(row), { event, repositoryId, boundRepositoryIds });
      const cause = `${triggerType}:${deliveryId}`;
      if (matched) await firing.fire(tx, row, { triggerType, payload, cause, subject: matched.subject });
    }
  };
}

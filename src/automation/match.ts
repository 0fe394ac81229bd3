import type { Trigger } from '../contract/automation.ts';
import type { GitEvent } from '../git-event/event.ts';

type Listening = Extract<Trigger, { type: 'github' | 'gitlab' }>;
type Told = {
  event: GitEvent;
  repositoryId: string;
  /** What the automation's environment is bound to; null when it is bound to nothing. */
  boundRepositoryIds: readonly string[] | null;
};

const DEFAULT_COMMAND = '/replica';

/**
 * Whether an event sets off an automation with these triggers, by the first of them that fits: however many do, it is one
 * run. The subject is the pull request when its later events shall follow into the same workspace.
 */
export function matchEvent(triggers: readonly Trigger[], told: Told): { subject: string | null } | null {
  const trigger = triggers.find((each) => isListening(each) && fits(each, told));
  if (!trigger || !isListening(trigger)) return null;
  const { pullRequest } = told.event;
  const isGrouped = trigger.config.group_pr_events === true && pullRequest !== null;
  return { subject: isGrouped ? `${told.repositoryId}#${pullRequest.number}` : null };
}

function isListening(trigger: Trigger): trigger is Listening {
  return trigger.type === 'github' || trigger.type === 'gitlab';
}

function fits(trigger: Listening, { event, repositoryId, boundRepositoryIds }: Told): boolean {
  const { config } = trigger;
  const wanted = config.repository_ids ?? boundRepositoryIds;
  if (trigger.type !== event.kind || !event.triggers.includes(config.event)) return false;
  if (wanted !== null && !wanted.includes(repositoryId)) return false;
  if (isExcluded(event.actor, config.excluded_actors)) return false;
  return (
    config.event !== 'pull_request.command' || isCommanded(event.comment?.text ?? '', commandOf(trigger))
  );
}

function isExcluded(actor: string | null, excluded: readonly string[] = []): boolean {
  return actor !== null && excluded.some((name) => name.trim().toLowerCase() === actor.toLowerCase());
}

function commandOf({ config }: Listening): string {
  return ('command' in config ? config.command : undefined) ?? DEFAULT_COMMAND;
}

/** The command is the first word, whatever its case. */
function isCommanded(comment: string, command: string): boolean {
  const [first = ''] = comment.trim().split(/\s/, 1);
  return first.toLowerCase() === command.toLowerCase();
}

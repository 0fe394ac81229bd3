import {
  admission,
  canvas,
  chat,
  chatHistory,
  chatTurn,
  event,
  hook,
  hookLog,
  lifecycle,
  preview,
  replica,
  replicaRequest,
  wakeLive,
  warmPoolLive,
  warmWorkspace,
  webhook,
  webhookEvent,
} from '../files.ts';
import type { Rule } from '../rule.ts';

/** The states of replicas; the conflicts are proved as the contract settles them. */
export const replicaStatusRules: Rule[] = [
  {
    id: 'state.values',
    says: 'A replica is preparing, active, sleeping, archived or error.',
    proof: lifecycle(
      'the lifecycle of a replica > shows each state under one status and finds it again by that status',
      'the lifecycle of a replica > $event in $state',
    ),
  },
  {
    id: 'state.new-version',
    says: 'With the version, a new replica is answered as preparing, and its message is delivered meanwhile.',
    proof: [
      ...replica('creating a replica > answers with the version at once, and becomes active'),
      ...chatTurn(
        'turns in a running replica > the message of the creation is the first turn, and later ones follow in order',
      ),
    ],
  },
  {
    id: 'state.new-legacy',
    says: 'Without the version, a new replica is answered once it is active, with its engine.',
    proof: replica(
      'creating a replica > answers without a version when it is active, with what the engine is',
    ),
  },
  {
    id: 'state.ready',
    says: 'A replica whose workspace is set up becomes active and says that it is ready.',
    proof: [
      ...webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
      ...event('a replica that is created is followed from preparing to active'),
    ],
  },
  {
    id: 'state.wake-by-read',
    says: 'A read of a sleeping replica or of its history wakes it and says so.',
    proof: [
      ...replica('sleeping and waking > wakes on a read, which says so'),
      ...chatHistory('history > of a replica that is %s, read with %j, leaves it %s'),
    ],
  },
  {
    id: 'state.wake-by-message',
    says: 'A message to a sleeping replica is kept and wakes it, and a webhook says when it is ready.',
    proof: [
      ...chatTurn('turns in a running replica > a message wakes a sleeping replica and is answered'),
      ...chat('sending a message > to a replica that is %s: %s'),
      ...webhook('what is told > waking is told like the first start'),
    ],
  },
  {
    id: 'state.sleep',
    says: 'An active replica that nobody uses falls asleep, and is deleted after seven days.',
    proof: replica(
      'policies > put an idle replica to sleep after an hour, and delete it after seven days asleep',
    ),
  },
  {
    id: 'state.done',
    says: 'A replica of policy `delete_when_done` is deleted when its agent is done, and a webhook says so.',
    proof: [
      ...chatTurn(
        'turns in a running replica > a replica of policy delete_when_done goes when its agent is done',
      ),
      ...webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
      ...webhookEvent('a replica tells when it is ready, has failed or is deleted, and no other move'),
    ],
  },
  {
    id: 'state.delete',
    says: 'A replica can be deleted in every state, and again.',
    proof: [
      ...replica(
        'deleting > succeeds again and again, and the replica is gone',
        'deleting > takes what sandboxes there are, whatever state it finds',
      ),
      ...lifecycle('the lifecycle of a replica > can be deleted from every state'),
    ],
  },
  {
    id: 'state.error',
    says: 'A replica that cannot be set up ends in error: it is not woken or messaged, stays readable, frees what it held, and a webhook says why.',
    proof: [
      ...replica('creating a replica > ends in error with a sentence when it never can'),
      ...webhook('what is told > a replica that cannot be started tells why'),
      ...replicaRequest(
        'a replica that cannot be started keeps no sandbox, costs nothing, and is listed until it is deleted',
      ),
    ],
  },
  {
    id: 'state.refusals',
    says: 'What needs a workspace is refused with 409 in error, and asleep when the caller wants it strict; the status of the replica tells which.',
    proof: [
      ...admission(
        'only a failed replica is not served',
        'strict handling also refuses every replica that callers see asleep',
      ),
      ...chat(
        'sending a message > strict handling refuses a replica that is %s and changes nothing',
        'chats > of a sleeping replica are served without waking it, unless handling is strict',
        'chats > of a waking replica are listed as such, of a failed one not at all',
      ),
      ...canvas(
        'the canvas of a replica > is there while the replica sleeps, unless the caller wants it strict',
        'the canvas of a replica > is refused when the replica has failed, is foreign, or never was',
      ),
      ...hookLog(
        'the hook logs of a replica > are there while the replica sleeps, unless the caller wants it strict',
        'the hook logs of a replica > are refused when the replica has failed, is foreign, or never was',
      ),
      ...event(
        'the stream of a replica > opens while the replica is %s without waking it, unless the caller wants it strict',
        'the stream of a replica > is refused when the replica has failed, is foreign, or never was',
      ),
      ...preview(
        'the previews of a replica that does not run > are listed and changed while it sleeps, unless the caller is strict',
        'the previews of a replica that does not run > are refused when it has failed',
      ),
    ],
  },
  {
    id: 'state.wake-time',
    says: 'Waking takes under 10 seconds with a warm pool and at most a minute without.',
    proof: wakeLive('waking a real sandbox > takes %s'),
  },
  {
    id: 'state.archived',
    says: 'A replica is archived when it is asked for, stays so, and is woken by a wake or a message.',
    proof: [
      ...replica(
        'sleeping and waking > archives, stays archived when it is read, and wakes when it is asked to',
      ),
      ...chat('sending a message > to a replica that is %s: %s'),
    ],
  },
];

export const warmWorkspaceStatusRules: Rule[] = [
  {
    id: 'warm-status.values',
    says: 'A warm workspace is warming, snapshotting, ready, assigned, expired or failed.',
    proof: warmWorkspace(
      'the stream of a warm workspace > tells what its hooks write, each change of status, and ends when it is ready',
      'the stream of a warm workspace > of one that is %s says so and ends, without output',
    ),
  },
  {
    id: 'warm-status.output',
    says: 'What its hooks write is told while it is warming, and not later.',
    proof: warmWorkspace(
      'the stream of a warm workspace > tells what its hooks write, each change of status, and ends when it is ready',
      'the stream of a warm workspace > of one that is %s says so and ends, without output',
    ),
  },
];

export const hookVersionRules: Rule[] = [
  {
    id: 'hook-version.one',
    says: 'An environment has at most one active hook of each kind.',
    proof: hook(
      'a %s hook > saved by many at once gets every version once, and the newest is active',
      'the two kinds have versions of their own',
    ),
  },
  {
    id: 'hook-version.active',
    says: 'What is saved is active at once.',
    proof: hook('a %s hook > is saved, read and replaced by the next version'),
  },
  {
    id: 'hook-version.start',
    says: 'A new start hook leaves the pool as it is, and runs at the next claim.',
    proof: [
      ...hook('a warm hook makes the warm pool older, a start hook does not'),
      ...warmPoolLive(
        'a warm pool of real sandboxes > prepares a workspace, and a claim gets it with variables and start hook of now',
      ),
    ],
  },
];

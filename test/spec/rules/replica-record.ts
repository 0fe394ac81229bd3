import {
  canvas,
  canvasKind,
  canvasPresent,
  chat,
  chatHistory,
  chatQueue,
  chatTurn,
  hookLog,
  lifecycle,
  replica,
  replicaRequest,
  toolPullRequest,
  walk,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const described = walk('every operation > %s succeeds for everybody who may call it');
const bound = replicaRequest(
  'the environment of a new replica > is the named one, whose bound repository the replica has',
);
const listed = replicaRequest('the list of replicas > shows those of a status, of a source, or of a person');

export const listItemRules: Rule[] = [
  { id: 'list-item.id', says: 'A replica is listed with its id.', proof: [...described, ...listed] },
  {
    id: 'list-item.name',
    says: 'A replica is listed with its name, which has no white space.',
    proof: [...described, ...replica('creating a replica > refuses %s and makes nothing')],
  },
  {
    id: 'list-item.status',
    says: 'A replica has one of five statuses.',
    proof: [
      ...lifecycle(
        'the lifecycle of a replica > shows each state under one status and finds it again by that status',
      ),
      ...replica('reading replicas > lists by status, source and page, newest first'),
    ],
  },
  {
    id: 'list-item.source',
    says: 'A replica has the source that it came from.',
    proof: [...described, ...listed],
  },
  {
    id: 'list-item.created_at',
    says: 'A replica is listed with the time of its creation.',
    proof: described,
  },
  {
    id: 'list-item.last_activity_at',
    says: 'A replica is listed with the time of its last activity, or null.',
    proof: described,
  },
  { id: 'list-item.repositories', says: 'A replica is listed with its repositories.', proof: bound },
  {
    id: 'list-item.pull_requests',
    says: 'A replica is listed with its pull requests.',
    proof: toolPullRequest(
      'a pull request on %s > is seen in the replica, and told once however often it is opened',
    ),
  },
  { id: 'list-item.repository', says: 'A repository of a replica has id, name and URL.', proof: bound },
  {
    id: 'list-item.pull_request',
    says: 'A pull request of a replica has the name of its repository, its number and its URL.',
    proof: toolPullRequest(
      'a pull request on %s > is seen in the replica, and told once however often it is opened',
    ),
  },
];

export const errorBodyRules: Rule[] = [
  {
    id: 'error.body',
    says: 'An error has a sentence and details, which may be null.',
    proof: walk('every operation > %s refuses everybody who may not call it'),
  },
];

const first = chat('sending a message > the first one is sent, later ones wait in the queue');

export const queueRules: Rule[] = [
  { id: 'queue.chatId', says: 'A queue says whose it is.', proof: first },
  { id: 'queue.processing', says: 'A queue says whether a message is in work.', proof: first },
  {
    id: 'queue.queue',
    says: 'A queue has its messages with id, text, time and the name of the sender.',
    proof: [...first, ...described, ...chat('senders > a person speaks for themselves')],
  },
  {
    id: 'queue.in-work',
    says: 'The message in work is not in the queue.',
    proof: chatQueue('the queue of a chat > does not hold the message in work'),
  },
];

const followed = chatTurn(
  'turns in a running replica > the message of the creation is the first turn, and later ones follow in order',
);

export const statusAdditionRules: Rule[] = [
  {
    id: 'status.lastChatMessage',
    says: 'A read of a replica shows the last message, its agent and its time.',
    proof: [...followed, ...described],
  },
  {
    id: 'status.lastMessageText',
    says: 'Each chat shows its last message.',
    proof: [
      ...followed,
      ...chat(
        'sending a message > it goes to the chat that is named, else to the last one that fits, else to a new one',
      ),
    ],
  },
  {
    id: 'status.waking',
    says: 'A read of a sleeping replica says that it wakes.',
    proof: [
      ...replica('sleeping and waking > wakes on a read, which says so'),
      ...chatHistory('history > of a replica that is %s, read with %j, leaves it %s'),
    ],
  },
];

export const canvasItemRules: Rule[] = [
  {
    id: 'canvas.entry',
    says: 'An item is listed with name, kind and size.',
    proof: canvas('the canvas of a replica > lists what its agent shows, by name'),
  },
  {
    id: 'canvas.kind',
    says: 'The kind of an item follows from how its name ends.',
    proof: canvasKind('%j is of the kind %s'),
  },
  {
    id: 'canvas.text',
    says: 'Markdown and HTML are given as text.',
    proof: [
      ...canvas(
        'the canvas of a replica > gives text as text, bytes as base64, and neither of what is too large',
      ),
      ...canvasPresent('text kinds are sent as text, whatever their bytes are'),
    ],
  },
  {
    id: 'canvas.binary',
    says: 'Everything else is given as base64.',
    proof: [
      ...canvas(
        'the canvas of a replica > gives text as text, bytes as base64, and neither of what is too large',
      ),
      ...canvasPresent('other kinds are sent as base64'),
    ],
  },
  {
    id: 'canvas.too-large',
    says: 'An item that is too large says so, and has neither.',
    proof: [
      ...canvas(
        'the canvas of a replica > gives text as text, bytes as base64, and neither of what is too large',
      ),
      ...canvasPresent('%s has neither when it is too large'),
    ],
  },
];

const logs = hookLog(
  'the hook logs of a replica > show each hook with what it wrote and how it ended',
  'the hook logs of a replica > hold the first 100,000 characters, and the whole log is beside them',
);

export const hookLogRules: Rule[] = [
  {
    id: 'hook-log.warm',
    says: 'A run of a warm hook has its script, its output, and how it ended.',
    proof: logs,
  },
  {
    id: 'hook-log.start',
    says: 'A run of a start hook has its repository, its commands, its output, and how it ended.',
    proof: logs,
  },
];

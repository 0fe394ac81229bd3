import {
  billing,
  canvas,
  chat,
  chatHistory,
  chatQueue,
  endpoints,
  event,
  hookLog,
  httpStream,
  refusals,
  replica,
  replicaLive,
  replicaRequest,
  repository,
  tenants,
  walk,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const exists = endpoints('the contract > has the endpoints of %s');
const answers = walk('every operation > %s succeeds for everybody who may call it');

export const replicaEndpointRules: Rule[] = [
  {
    id: 'endpoint.create',
    says: 'POST /v1/replica takes the version, answers 201 with the replica, and refuses with the errors it declares.',
    proof: [
      ...exists,
      ...replica(
        'creating a replica > answers without a version when it is active, with what the engine is',
        'creating a replica > refuses %s and makes nothing',
      ),
      ...replicaRequest(
        'the environment of a new replica > is not found where nothing is bound to what is named',
      ),
      ...refusals('every error an operation declares > %s answers with each of them'),
    ],
  },
  {
    id: 'endpoint.list',
    says: 'GET /v1/replica lists by page, and by person, source and status.',
    proof: [
      ...exists,
      ...replica('reading replicas > lists by status, source and page, newest first'),
      ...replicaRequest('the list of replicas > shows those of a status, of a source, or of a person'),
    ],
  },
  {
    id: 'endpoint.repositories',
    says: 'GET /v1/replica/repositories lists the repositories of the organization.',
    proof: [
      ...exists,
      ...repository(
        'connecting > the list for replicas has four fields, with the branch that was asked for before any check',
      ),
    ],
  },
  {
    id: 'endpoint.read',
    says: 'GET /v1/replica/{id} includes environment and diffs when asked to, and wakes.',
    proof: [
      ...exists,
      ...replica('sleeping and waking > wakes on a read, which says so'),
      ...replicaLive(
        'a replica in a real sandbox > has repository, variables, files and prompt in place, and its hooks have run',
        'a replica in a real sandbox > keeps its work over sleep and wake, and shows it while it sleeps',
      ),
    ],
  },
  {
    id: 'endpoint.delete',
    says: 'DELETE /v1/replica/{id} ends the sandbox and the bill, again too, and is 404 for what is foreign or unknown.',
    proof: [
      ...exists,
      ...replica(
        'deleting > succeeds again and again, and the replica is gone',
        'reading replicas > keeps organizations apart',
      ),
      ...billing(
        'a replica is billed at its own rate while it is active, and its bill is settled when it is deleted',
      ),
    ],
  },
  {
    id: 'endpoint.wake',
    says: 'POST /v1/replica/{id}/wake wakes what sleeps, and is 409 in error.',
    proof: [
      ...exists,
      ...replica(
        'sleeping and waking > answers a wake with 202, and with 200 when it is awake',
        'creating a replica > ends in error with a sentence when it never can',
      ),
    ],
  },
  {
    id: 'endpoint.messages',
    says: 'POST /v1/replica/{id}/messages takes a message with its options and leading words, and queues it while the agent works.',
    proof: [
      ...exists,
      ...chat(
        'sending a message > the first one is sent, later ones wait in the queue',
        'sending a message > it goes to the chat that is named, else to the last one that fits, else to a new one',
        'sending a message > leading words and flags are combined',
        'sending a message > %s: %#',
      ),
    ],
  },
  {
    id: 'endpoint.history',
    says: 'GET /v1/replica/{id}/history is of all chats or one, is paged from the end, replaces an older path, and wakes.',
    proof: [
      ...exists,
      ...chatHistory(
        'history > is paged from the end, oldest first within a page',
        'history > is read across chats and by chat',
        'history > has an older name, which is deprecated',
        'history > of a replica that is %s, read with %j, leaves it %s',
      ),
    ],
  },
  {
    id: 'endpoint.events',
    says: 'GET /v1/replica/{id}/events is a stream that stays open.',
    proof: [
      ...exists,
      ...event('the stream of a replica > begins with what happens next'),
      ...httpStream(
        'a stream > that has nothing to say yet is open all the same, and is kept so by comments',
      ),
    ],
  },
  {
    id: 'endpoint.hooks',
    says: 'GET /v1/replica/{id}/hooks shows what hooks wrote.',
    proof: [
      ...exists,
      ...hookLog('the hook logs of a replica > show each hook with what it wrote and how it ended'),
    ],
  },
  {
    id: 'endpoint.canvas',
    says: 'GET /v1/replica/{id}/canvas lists the canvas.',
    proof: [...exists, ...canvas('the canvas of a replica > lists what its agent shows, by name')],
  },
  {
    id: 'endpoint.canvas-item',
    says: 'GET /v1/replica/{id}/canvas/{filename} gives one item.',
    proof: [
      ...exists,
      ...canvas(
        'the canvas of a replica > reads an item with the name %j',
        'the canvas of a replica > has nothing with the name %j',
      ),
    ],
  },
];

export const chatEndpointRules: Rule[] = [
  {
    id: 'endpoint.chats',
    says: 'GET …/chats lists the chats.',
    proof: [...exists, ...chat('chats > are opened, listed and deleted')],
  },
  {
    id: 'endpoint.open-chat',
    says: 'POST …/chats opens a chat of an agent with a title.',
    proof: [
      ...exists,
      ...chat(
        'chats > are opened, listed and deleted',
        'chats > may have an id of the caller, once in a replica',
      ),
    ],
  },
  {
    id: 'endpoint.queue',
    says: 'GET …/chats/{chatId}/queue shows the queue.',
    proof: [
      ...exists,
      ...chat('sending a message > the first one is sent, later ones wait in the queue'),
      ...answers,
    ],
  },
  {
    id: 'endpoint.clear-queue',
    says: 'DELETE …/queue removes what waits and leaves the message in work alone.',
    proof: [...exists, ...chatQueue('the queue of a chat > is cleared without touching the message in work')],
  },
  {
    id: 'endpoint.remove-message',
    says: 'DELETE …/queue/{messageId} removes one message that waits.',
    proof: [
      ...exists,
      ...chatQueue(
        'the queue of a chat > loses one message that is removed, and only once',
        'the queue of a chat > keeps the message in work out of reach',
      ),
    ],
  },
  {
    id: 'endpoint.reorder',
    says: 'PATCH …/queue/reorder moves a message to a place counted from zero.',
    proof: [
      ...exists,
      ...chatQueue('the queue of a chat > moves a message %s', 'the queue of a chat > refuses %s'),
      ...tenants("another organization's ids in the path > %s cannot tell them from ids that never were"),
    ],
  },
];

import {
  engineReports,
  event,
  hookStream,
  tracking,
  turns,
  verifyWebhook,
  warmWorkspace,
  webhook,
  webhookDelivery,
  webhookEvent,
  webhookSignature,
  webhookTimes,
  webhookTurn,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const life = webhook('what is told > the life of a replica arrives in order, with exact headers, and signed');
const tries = webhook(
  'attempts > a receiver in trouble is asked three times more, with the same delivery, and then given up',
);

export const webhookRules: Rule[] = [
  {
    id: 'webhook.ready',
    says: '`replica.ready` is sent when a workspace is set up or awake.',
    proof: webhook(
      'what is told > the life of a replica arrives in order, with exact headers, and signed',
      'what is told > waking is told like the first start',
    ),
  },
  {
    id: 'webhook.turn_completed',
    says: '`replica.turn_completed` is sent when a turn ends.',
    proof: [
      ...life,
      ...webhookTurn('the end of a turn tells repositories and branches, and each new pull request once'),
    ],
  },
  { id: 'webhook.deleted', says: '`replica.deleted` is sent with no data.', proof: life },
  {
    id: 'webhook.error',
    says: '`replica.error` is sent with the reason.',
    proof: webhook('what is told > a replica that cannot be started tells why'),
  },
  { id: 'webhook.header-event', says: '`X-Service-Event` has the type.', proof: life },
  {
    id: 'webhook.header-event-id',
    says: '`X-Service-Event-Id` is the same for one event.',
    proof: [
      ...life,
      ...tries,
      ...webhook(
        'deliveries > are repeated on demand: a new delivery of the same event, signed anew, also of a deleted replica',
      ),
    ],
  },
  {
    id: 'webhook.header-delivery',
    says: '`X-Service-Delivery` is of one delivery, and the same when it is tried again.',
    proof: [...life, ...tries],
  },
  { id: 'webhook.header-replica-id', says: '`X-Service-Replica-Id` has the replica.', proof: life },
  {
    id: 'webhook.header-signature',
    says: '`X-Service-Signature` is there when a secret is, and signs the bytes of the body.',
    proof: [
      ...life,
      ...webhook('what is told > nothing is signed without a secret, and the address may stand alone'),
      ...webhookSignature(
        'with a secret the bytes are signed, and once more together with the time',
        'without a secret nothing is signed',
      ),
    ],
  },
  {
    id: 'webhook.body',
    says: 'The body has id, type, time, replica and data.',
    proof: [...life, ...webhookEvent('the body of %j of a replica that is %s has exactly what is promised')],
  },
  {
    id: 'webhook.turn-data',
    says: 'A turn tells the repositories with their branches, and the pull requests that it opened.',
    proof: [
      ...webhookTurn('the end of a turn tells repositories and branches, and each new pull request once'),
      ...tracking('a pull request is told by the first turn that ends after it was found, and by no other'),
    ],
  },
  {
    id: 'webhook.verify',
    says: 'A receiver can verify the signature in constant time.',
    proof: [
      ...verifyWebhook('what the service has signed is taken > %s', 'anything else is refused > %s'),
      ...life,
    ],
  },
  {
    id: 'webhook.retries',
    says: 'A delivery is tried again up to three times, ever later, after network errors, 5xx and 429.',
    proof: [
      ...tries,
      ...webhook(
        'attempts > Retry-After puts the next attempt off',
        'attempts > who does not answer, hangs up or is not there counts as a network error',
      ),
      ...webhookDelivery(
        'after the first attempt > %j means %s',
        'the pause before a retry > after attempt %i with a chance of %d is %i ms',
      ),
    ],
  },
  {
    id: 'webhook.permanent',
    says: 'Any other 4xx ends a delivery.',
    proof: [
      ...webhook('attempts > %i is the last word'),
      ...webhookDelivery('after the first attempt > %j means %s'),
    ],
  },
  {
    id: 'webhook.time',
    says: 'A receiver has 10 seconds for a 2xx.',
    proof: [
      ...webhookTimes(
        'a receiver has ten seconds for an answer, and is asked three times more, each time after a longer pause',
      ),
      ...webhook('attempts > who does not answer, hangs up or is not there counts as a network error'),
    ],
  },
];

export const streamRules: Rule[] = [
  {
    id: 'stream.replica',
    says: 'The stream of a replica tells of turns, repositories and hooks as they go.',
    proof: [
      ...engineReports('a batch of reports > is told to followers in the order in which it happened'),
      ...turns('the way of a message > from its acceptance through the engine to its end'),
      ...event(
        'the stream of a replica > begins with what happens next',
        'a replica that is created is followed from preparing to active',
      ),
    ],
  },
  {
    id: 'stream.warm-workspace',
    says: 'The stream of a warm workspace tells what hooks write, and its status.',
    proof: warmWorkspace(
      'the stream of a warm workspace > tells what its hooks write, each change of status, and ends when it is ready',
    ),
  },
  {
    id: 'stream.hook-test',
    says: 'The stream of a hook that is tried has progress, output, complete and error.',
    proof: hookStream(
      'a warm hook that is tried as it is saved is in the last event, with how it ended',
      'a test at %s whose sandbox cannot be made ends with an error',
    ),
  },
];

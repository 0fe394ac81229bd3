import {
  admission,
  automationFields,
  badInput,
  billing,
  canvas,
  canvasEngine,
  chat,
  chatHistory,
  endpoints,
  environment,
  environmentFile,
  event,
  hookStream,
  hookTestLive,
  mcp,
  publishedApi,
  refusals,
  replica,
  replicaRequest,
  sandboxTier,
  skill,
  tenants,
  trouble,
  usage,
  walk,
  warmWorkspace,
  webhook,
  webhookTimes,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const global = environment('the Global environment > cannot be edited or deleted, by either name');

export const errorRules: Rule[] = [
  {
    id: 'error.shape',
    says: 'Every error has the same two fields.',
    proof: [
      ...walk('every operation > %s refuses everybody who may not call it'),
      ...refusals('every error an operation declares > %s answers with each of them'),
    ],
  },
  {
    id: 'error.400',
    says: '400: something is missing or wrong, or Global is changed.',
    proof: [
      ...badInput(
        'a body that is no JSON object > is refused by %s',
        'a field that is not what the contract says > is refused by %s when it is missing or of another type',
      ),
      ...global,
    ],
  },
  {
    id: 'error.401',
    says: '401: the key is missing or not valid.',
    proof: walk('a credential that is not valid > is refused by every operation, whatever is wrong with it'),
  },
  {
    id: 'error.404',
    says: '404: a repository, set or replica is unknown or foreign.',
    proof: [
      ...replicaRequest(
        'the environment of a new replica > is not found where nothing is bound to what is named',
      ),
      ...tenants("another organization's ids in the path > %s cannot tell them from ids that never were"),
    ],
  },
  {
    id: 'error.409',
    says: '409: it is there already, or the state does not allow it.',
    proof: [
      ...environment('environments > one that an automation uses cannot be deleted'),
      ...global,
      ...skill('the skills of an environment > the same %s again is a 409'),
      ...admission('only a failed replica is not served'),
      ...chat('sending a message > strict handling refuses a replica that is %s and changes nothing'),
    ],
  },
  {
    id: 'error.500',
    says: '500: a fault of the service, which says nothing of its inside.',
    proof: trouble('a fault of our own > is answered with 500 and says nothing about the inside'),
  },
  {
    id: 'error.503',
    says: '503: the service cannot answer for a while.',
    proof: trouble('a database that is away > makes every operation answer 503, and none once it is back'),
  },
];

const priced = [
  ...usage('usage > counts begun minutes at the rate of the size, by day, replica and source'),
  ...billing(
    'a replica is billed at its own rate while it is active, and its bill is settled when it is deleted',
  ),
];

export const limitRules: Rule[] = [
  {
    id: 'limit.name',
    says: 'The name of a replica has no white space.',
    proof: replica('creating a replica > refuses %s and makes nothing'),
  },
  {
    id: 'limit.file',
    says: 'A file of an environment has at most 65,536 bytes.',
    proof: environmentFile('the content holds 65,536 bytes and not one more > %s'),
  },
  {
    id: 'limit.canvas',
    says: 'An item of the canvas is read up to 5 MB; a larger one is listed.',
    proof: [
      ...canvas(
        'the canvas of a replica > gives text as text, bytes as base64, and neither of what is too large',
      ),
      ...canvasEngine('the canvas > takes five megabytes, and of a larger item the size alone'),
    ],
  },
  {
    id: 'limit.mcp',
    says: 'The name of an MCP server has a pattern and no reserved beginning.',
    proof: mcp('a name > %s is taken', 'a name > %j is refused'),
  },
  {
    id: 'limit.debounce',
    says: '`debounce_seconds` is 0 to 86400, or null.',
    proof: automationFields(
      'an automation > with %j is kept as it was given',
      'an automation > with %j is refused',
    ),
  },
  {
    id: 'limit.warm-workspaces',
    says: 'At most ten workspaces of a pool are listed.',
    proof: warmWorkspace('the workspaces of a warm pool > are listed, the newest 10 of them'),
  },
  {
    id: 'limit.webhook-time',
    says: 'A receiver answers within 10 seconds.',
    proof: [
      ...webhookTimes(
        'a receiver has ten seconds for an answer, and is asked three times more, each time after a longer pause',
      ),
      ...webhook('attempts > who does not answer, hangs up or is not there counts as a network error'),
    ],
  },
  {
    id: 'limit.webhook-retries',
    says: 'A delivery is tried again three times, ever later.',
    proof: [
      ...webhookTimes(
        'a receiver has ten seconds for an answer, and is asked three times more, each time after a longer pause',
      ),
      ...webhook(
        'attempts > a receiver in trouble is asked three times more, with the same delivery, and then given up',
      ),
    ],
  },
  {
    id: 'limit.hook-test',
    says: 'A hook that is tried is answered when it has ended, within the same request.',
    proof: [
      ...hookStream('a hook that is only tried is not saved, whichever way it is tried'),
      ...hookTestLive(
        'trying hooks in real sandboxes > answers with exit code and output, saves nothing, and leaves nothing',
      ),
    ],
  },
  {
    id: 'limit.asleep',
    says: 'A replica is deleted after seven days asleep.',
    proof: replica(
      'policies > put an idle replica to sleep after an hour, and delete it after seven days asleep',
    ),
  },
  { id: 'price.small', says: 'A minute of small costs 0.008.', proof: priced },
  { id: 'price.large', says: 'A minute of large costs 0.016.', proof: priced },
  {
    id: 'price.unnamed',
    says: 'A minute of a replica without a size costs 0.0166, in every sandbox tier.',
    proof: [
      ...priced,
      ...sandboxTier(
        'the sandbox tier of an organization > gives a replica without a size its sandbox and leaves its rate, and a size that is named counts',
      ),
    ],
  },
  { id: 'price.own', says: 'Each replica is billed at its own rate.', proof: priced },
];

export const versioningRules: Rule[] = [
  {
    id: 'version.paths',
    says: 'Every path begins with /v1.',
    proof: endpoints('the contract > has every path under /v1 but those about the service itself'),
  },
  {
    id: 'version.header',
    says: 'A create takes one version and refuses every other.',
    proof: replica('creating a replica > refuses %s and makes nothing'),
  },
  {
    id: 'version.omitted',
    says: 'Without a version a create answers once the replica is active, with its engine.',
    proof: replica(
      'creating a replica > answers without a version when it is active, with what the engine is',
    ),
  },
  {
    id: 'version.present',
    says: 'With the version a create answers at once, and the replica can be polled or followed.',
    proof: [
      ...replica('creating a replica > answers with the version at once, and becomes active'),
      ...event('a replica that is created is followed from preparing to active'),
    ],
  },
  {
    id: 'version.pinned',
    says: 'A client pins a version, which is published with the operation; what is old says since when.',
    proof: [
      ...replica('creating a replica > refuses %s and makes nothing'),
      ...publishedApi('openApiDocument > lists the headers of an operation as parameters'),
      ...chatHistory('history > has an older name, which is deprecated'),
    ],
  },
  {
    id: 'version.deprecated',
    says: 'What is deprecated still works: sets and repositories at create, and the older history.',
    proof: [
      ...replicaRequest(
        'the environment of a new replica > is the first one that is bound to the named set of repositories',
        'the environment of a new replica > is the first one that is bound to one of the named repositories',
      ),
      ...chatHistory('history > has an older name, which is deprecated'),
    ],
  },
];

import {
  agentsLive,
  chat,
  chatImage,
  chatTurn,
  closing,
  codexSettings,
  codexTurn,
  cursorModel,
  followUp,
  opencodeModel,
  pullRequest,
  replica,
  replicaRequest,
  sandboxSize,
  sandboxTier,
  turnRequest,
  turns,
  webhook,
  webhookTarget,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const refused = replicaRequest('the settings of a new replica > with %s are refused');
const words = replicaRequest(
  'the first message of a new replica > is without its leading words, which count as flags do',
);
const shown = replicaRequest(
  'the settings of a new replica > are shown as they were given, with fields of the configuration that nobody knows',
);
const sized = replicaRequest(
  'the settings of a new replica > %j give it a sandbox of the size %s where large is the tier',
);
const tiered = sandboxTier(
  'the sandbox tier of an organization > gives a replica without a size its sandbox and leaves its rate, and a size that is named counts',
);
const told = turnRequest('what the engine is told of a message > is everything that the message asks for');

/** Fields of the body of a create, the policies and the sizes. */
export const replicaRequestRules: Rule[] = [
  {
    id: 'create.name',
    says: 'A name is needed and has no white space.',
    proof: [...refused, ...replica('creating a replica > refuses %s and makes nothing')],
  },
  {
    id: 'create.message',
    says: 'A message is needed; the agent gets it first.',
    proof: [
      ...refused,
      ...chatTurn(
        'turns in a running replica > the message of the creation is the first turn, and later ones follow in order',
      ),
    ],
  },
  {
    id: 'create.environment_id',
    says: 'An environment is named unless a repository or a set is, and its binding gives the repositories.',
    proof: [
      ...replicaRequest(
        'the environment of a new replica > is the named one, whose bound repository the replica has',
      ),
      ...replica('creating a replica > refuses %s and makes nothing'),
    ],
  },
  {
    id: 'create.repository_set_id',
    says: 'A set stands for the first environment that is bound to it.',
    proof: replicaRequest(
      'the environment of a new replica > is the first one that is bound to the named set of repositories',
    ),
  },
  {
    id: 'create.repository_ids',
    says: 'Repositories stand for the first environment that is bound to one of them.',
    proof: replicaRequest(
      'the environment of a new replica > is the first one that is bound to one of the named repositories',
    ),
  },
  {
    id: 'create.coding_agent',
    says: 'The agent is one of four, and claude when none is named.',
    proof: [
      ...replicaRequest(
        'the first message of a new replica > is for claude unless another agent is named, and becomes a goal of codex only',
      ),
      ...replica('creating a replica > refuses %s and makes nothing'),
    ],
  },
  {
    id: 'create.model',
    says: 'The model is one of the agent.',
    proof: [
      ...words,
      ...told,
      ...cursorModel('the model > %s is %s'),
      ...opencodeModel(
        'the choice of a model > takes what opencode knows of a model before what was declared of it',
      ),
    ],
  },
  {
    id: 'create.images',
    says: 'Images go along with the first message.',
    proof: [
      ...words,
      ...turnRequest(
        'what the engine is told of a message > has the images themselves, in their order, wherever they come from',
      ),
    ],
  },
  {
    id: 'create.lifecycle_policy',
    says: 'The policy is one of three.',
    proof: [...shown, ...refused],
  },
  { id: 'create.config', says: 'A configuration may be given, and is shown.', proof: [...shown, ...refused] },
  {
    id: 'create.plan_mode',
    says: 'The first message runs in plan mode by the flag or by a leading `/plan`, which is taken off.',
    proof: [
      ...words,
      ...codexSettings('a message with %o'),
      ...agentsLive('agents in real sandboxes > $agent > writes nothing in plan mode'),
    ],
  },
  {
    id: 'create.goal_mode',
    says: 'The first message becomes the goal of codex by the flag or by a leading `/goal`, which is taken off.',
    proof: [
      ...words,
      ...replicaRequest(
        'the first message of a new replica > is for claude unless another agent is named, and becomes a goal of codex only',
      ),
      ...codexTurn('a goal > makes codex go on until it is reached'),
    ],
  },
  {
    id: 'create.fast_mode',
    says: 'The first message runs in fast mode by the flag or by a leading `/fast`, which is taken off.',
    proof: [
      ...words,
      ...codexSettings('a message with %o'),
      ...cursorModel('the fast mode of %s, wanted %s, is %s'),
      ...opencodeModel(
        'the choice of a model > takes the fast form of a model that has one, and says so when there is none',
      ),
    ],
  },
  {
    id: 'create.thinking_level',
    says: 'The thinking level is one of four.',
    proof: [...words, ...refused, ...told],
  },
  {
    id: 'create.webhook_url',
    says: 'A URL, or one with a secret, is where events go.',
    proof: [
      ...webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
      ...webhook('what is told > nothing is signed without a secret, and the address may stand alone'),
      ...refused,
    ],
  },
  {
    id: 'create.size',
    says: "The size is small or large, and the organization's sandbox tier counts when none is named.",
    proof: [...sized, ...tiered, ...refused],
  },
  {
    id: 'policy.default',
    says: '`default` sleeps when nobody uses it and is deleted after seven days asleep.',
    proof: replica(
      'policies > put an idle replica to sleep after an hour, and delete it after seven days asleep',
    ),
  },
  {
    id: 'policy.delete_when_done',
    says: '`delete_when_done` is deleted when the agent has finished.',
    proof: [
      ...replica('policies > delete a replica when its agent is done'),
      ...turns(
        'the way of a message > a replica of policy delete_when_done goes after the last turn of the last queue',
      ),
    ],
  },
  {
    id: 'policy.delete_after_inactivity',
    says: '`delete_after_inactivity` is deleted when nobody used it for a while.',
    proof: replica('policies > delete a replica that nobody used'),
  },
  {
    id: 'size.small',
    says: '`small` has 2 vCPU, 8 GB of memory and 20 GB of disk.',
    proof: [
      ...sandboxSize(
        'limitsOf > %s on %j is %j',
        'limitsOf > %s keeps the disk and the processes that it promises',
      ),
      ...sized,
    ],
  },
  {
    id: 'size.large',
    says: '`large` has 4 vCPU, 16 GB of memory and 32 GB of disk.',
    proof: [
      ...sandboxSize(
        'limitsOf > %s on %j is %j',
        'limitsOf > %s keeps the disk and the processes that it promises',
      ),
      ...sized,
    ],
  },
];

const images = chat('sending a message > %s: %#');

export const imageRules: Rule[] = [
  { id: 'image.type', says: 'An image is called `image`.', proof: refused },
  { id: 'image.source', says: 'An image has a source of one of two forms.', proof: [...refused, ...images] },
  {
    id: 'image.base64',
    says: 'A source may be base64 of PNG, JPEG, GIF or WebP, and of nothing else.',
    proof: [
      ...images,
      ...turnRequest(
        'what the engine is told of a message > has the images themselves, in their order, wherever they come from',
      ),
    ],
  },
  {
    id: 'image.url',
    says: 'A source may be an address, from which the image is fetched.',
    proof: [
      ...images,
      ...chatImage('a message with the address of an image > is worked on once the image is there'),
    ],
  },
];

export const workspaceConfigRules: Rule[] = [
  {
    id: 'config.additional',
    says: 'Fields that nobody knows are kept and shown, at every level.',
    proof: shown,
  },
  {
    id: 'config.missing',
    says: 'A capability or preference that is missing is off.',
    proof: [
      ...closing('when the last pull request of a replica is %s > the replica is archived'),
      ...followUp('nothing is told > %s'),
    ],
  },
  {
    id: 'config.pr_followups',
    says: '`pr_followups` is on for replicas of callers and off for those of automations.',
    proof: [
      ...followUp(
        'what is said of a tracked pull request > is gathered for ten seconds and then told in one message of the service',
        'nothing is told > %s',
        'an automation that asks for follow-ups gets them',
      ),
      ...pullRequest('a workspace learns what is said of its pull request, and is closed with it'),
    ],
  },
  {
    id: 'config.keep_open_on_pr_merge',
    says: 'A replica closes when its last pull request is merged, unless it is kept open.',
    proof: [
      ...closing(
        'when the last pull request of a replica is %s > the replica is archived',
        'when the last pull request of a replica is %s > a replica that shall stay open does',
        'a replica with another open pull request stays',
      ),
      ...pullRequest('a workspace learns what is said of its pull request, and is closed with it'),
    ],
  },
  {
    id: 'config.provisioning_error',
    says: 'A replica that could not be set up says why, and nobody else can.',
    proof: [
      ...replica('creating a replica > ends in error with a sentence when it never can'),
      ...replicaRequest('the settings of a new replica > cannot claim that a start has failed'),
    ],
  },
];

export const webhookConfigRules: Rule[] = [
  {
    id: 'webhook-config.url',
    says: 'The URL is https, and gets JSON by POST.',
    proof: [
      ...webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
      ...webhookTarget('an address that is not public is refused at the creation > %s'),
    ],
  },
  {
    id: 'webhook-config.secret',
    says: 'A secret may be given, with which deliveries are signed.',
    proof: [
      ...webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
      ...webhook('what is told > nothing is signed without a secret, and the address may stand alone'),
    ],
  },
];

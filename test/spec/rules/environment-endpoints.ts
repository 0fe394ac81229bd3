import {
  endpoints,
  environment,
  environmentFile,
  hook,
  hookStream,
  hookTestLive,
  mcp,
  repositoryHook,
  skill,
  skillRegistry,
  variable,
  walk,
  warmPool,
  warmWorkspace,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const exists = endpoints('the contract > has the endpoints of %s');
const answers = walk('every operation > %s succeeds for everybody who may call it');

export const environmentEndpointRules: Rule[] = [
  {
    id: 'endpoint.environments',
    says: 'GET /v1/environments lists all, Global too, with counts.',
    proof: [
      ...exists,
      ...environment(
        'environments > the list has Global first and the right counts',
        'the Global environment > is made by the list and by anything attached to it',
      ),
    ],
  },
  {
    id: 'endpoint.create-environment',
    says: 'POST /v1/environments makes one, whose warm pool is on.',
    proof: [
      ...exists,
      ...environment(
        'environments > a created one has what was given, no binding, and a warm pool that is on',
      ),
    ],
  },
  {
    id: 'endpoint.read-environment',
    says: 'GET /v1/environments/{id} gives one; `global` is made when it is first asked for.',
    proof: [
      ...exists,
      ...environment('the Global environment > appears on first access and only once under a race'),
    ],
  },
  {
    id: 'endpoint.change-environment',
    says: 'PATCH changes only what is given, is 400 for Global, and 409 for another binding of what an automation uses.',
    proof: [
      ...exists,
      ...environment(
        'environments > PATCH changes only what is given and null clears',
        'the Global environment > cannot be edited or deleted, by either name',
        'environments > one that an automation uses keeps its binding but may be renamed',
      ),
    ],
  },
  {
    id: 'endpoint.delete-environment',
    says: 'DELETE is 409 for Global and for what an automation uses.',
    proof: [
      ...exists,
      ...environment(
        'environments > one that an automation uses cannot be deleted',
        'the Global environment > cannot be edited or deleted, by either name',
        'environments > DELETE removes it with everything attached; a second one is 404',
      ),
    ],
  },
];

const savedHook = hook(
  'a %s hook > is saved, read and replaced by the next version',
  'a %s hook > is cleared by empty content, and versions go on from there',
);
const repositoryHooks = repositoryHook(
  'hooks are read from the configuration file of the bound repository',
  'hooks of a set come in the order of the set, from either file format',
);
const onlyTried = hookStream('a hook that is only tried is not saved, whichever way it is tried');
const kept = hookStream(
  'a warm hook that fails is saved all the same, unless the caller wants it only when it succeeds',
);

/** What environments hold; `global` stands for an id in each of these paths. */
export const attachmentEndpointRules: Rule[] = [
  {
    id: 'endpoint.variables',
    says: 'Variables are listed and added.',
    proof: [
      ...exists,
      ...variable('environment variables > a value comes back in clear and is sealed in the database'),
    ],
  },
  {
    id: 'endpoint.variable',
    says: 'A variable is changed in part, and removed.',
    proof: [
      ...exists,
      ...answers,
      ...variable('environment variables > PATCH changes the value, the key, or both'),
    ],
  },
  {
    id: 'endpoint.files',
    says: 'Files are listed and added, of at most 64 KB.',
    proof: [
      ...exists,
      ...environmentFile(
        'a file is added, listed, read, changed and removed',
        'the content holds 65,536 bytes and not one more > %s',
      ),
    ],
  },
  {
    id: 'endpoint.file',
    says: 'A file is read, changed in part, and removed.',
    proof: [...exists, ...environmentFile('a file is added, listed, read, changed and removed')],
  },
  {
    id: 'endpoint.skill-search',
    says: 'The catalog of skills is searched.',
    proof: [
      ...exists,
      ...skill(
        'the search in the catalog > what the catalog knows is answered, without what cannot be enabled',
        'the search in the catalog > the query reaches the catalog as it was typed, with a limit',
      ),
    ],
  },
  {
    id: 'endpoint.skills',
    says: 'Skills are listed and enabled; one with the same slug or source is 409.',
    proof: [
      ...exists,
      ...skill(
        'the skills of an environment > a skill is enabled, listed, counted and disabled again',
        'the skills of an environment > the same %s again is a 409',
      ),
    ],
  },
  {
    id: 'endpoint.skill',
    says: 'A skill is disabled.',
    proof: [
      ...exists,
      ...skill('the skills of an environment > a skill is enabled, listed, counted and disabled again'),
    ],
  },
  {
    id: 'endpoint.registries',
    says: 'Registries are listed under `registries`, and added by URL.',
    proof: [
      ...exists,
      ...skillRegistry('a skill registry > is scanned when it is added, and listed with what was found'),
    ],
  },
  {
    id: 'endpoint.registry',
    says: 'A registry is removed.',
    proof: [...exists, ...skillRegistry('a skill registry > is removed once')],
  },
  {
    id: 'endpoint.mcps',
    says: 'MCP servers are listed and added.',
    proof: [...exists, ...mcp('a server is added, listed, read, changed and removed')],
  },
  {
    id: 'endpoint.mcp',
    says: 'An MCP server is changed in part; another transport needs a config that fits. It is removed.',
    proof: [
      ...exists,
      ...mcp(
        'a server is added, listed, read, changed and removed',
        'a change of transport needs a config that fits it, and a config alone must fit the transport that stands',
      ),
    ],
  },
  {
    id: 'endpoint.warm-hook',
    says: 'The active warm hook is read with the pool and its counts.',
    proof: [
      ...exists,
      ...savedHook,
      ...warmPool(
        'the counts are those of the workspaces in the pool, and its snapshot that of the present generation',
      ),
    ],
  },
  {
    id: 'endpoint.warm-repository-hooks',
    says: 'Warm hooks of the bound repositories are read from their configuration files.',
    proof: [...exists, ...repositoryHooks],
  },
  {
    id: 'endpoint.test-warm-hook',
    says: 'A warm hook is tried in a sandbox of its own and not saved.',
    proof: [
      ...exists,
      ...onlyTried,
      ...hookTestLive(
        'trying hooks in real sandboxes > answers with exit code and output, saves nothing, and leaves nothing',
      ),
    ],
  },
  {
    id: 'endpoint.save-warm-hook',
    says: 'A warm hook is saved and active without a test.',
    proof: [...exists, ...savedHook],
  },
  {
    id: 'endpoint.save-test-warm-hook',
    says: 'A warm hook is saved and tried, and the answer has the result.',
    proof: [
      ...exists,
      ...kept,
      ...hookTestLive('trying hooks in real sandboxes > saves a warm hook always, or only when it succeeds'),
    ],
  },
  {
    id: 'endpoint.stream-warm-hook',
    says: 'A warm hook is tried over a stream, and saved unless the mode is `test_only`.',
    proof: [
      ...exists,
      ...hookStream(
        'a warm hook that is tried as it is saved is in the last event, with how it ended',
        'another mode is refused',
      ),
      ...onlyTried,
    ],
  },
  {
    id: 'endpoint.warm-pool',
    says: 'The warm pool is switched by `enabled`.',
    proof: [
      ...exists,
      ...warmPool(
        'a new environment has a warm pool that is on, and PUT switches it',
        'a bad request is refused and changes nothing > %j',
      ),
    ],
  },
  { id: 'endpoint.start-hook', says: 'The active start hook is read.', proof: [...exists, ...savedHook] },
  {
    id: 'endpoint.start-repository-hooks',
    says: 'Start hooks of the bound repositories are read from their configuration files.',
    proof: [...exists, ...repositoryHooks],
  },
  {
    id: 'endpoint.save-start-hook',
    says: 'A start hook is saved and active.',
    proof: [...exists, ...savedHook],
  },
  {
    id: 'endpoint.test-start-hook',
    says: 'A start hook is tried and not saved; the answer has exit code, output and whether its time ran out.',
    proof: [
      ...exists,
      ...hookTestLive(
        'trying hooks in real sandboxes > answers with exit code and output, saves nothing, and leaves nothing',
      ),
      ...onlyTried,
    ],
  },
  {
    id: 'endpoint.stream-start-hook',
    says: 'A start hook is tried over a stream of progress, output, and complete or error.',
    proof: [
      ...exists,
      ...onlyTried,
      ...hookStream('a test at %s whose sandbox cannot be made ends with an error'),
    ],
  },
  {
    id: 'hook-stream.events',
    says: 'The stream of a warm hook tells progress and output, then how it ended with what was saved, or the error.',
    proof: [
      ...hookStream(
        'a warm hook that is tried as it is saved is in the last event, with how it ended',
        'a test at %s whose sandbox cannot be made ends with an error',
      ),
      ...hookTestLive(
        'trying hooks in real sandboxes > streams progress and output as they come, then how it ended',
      ),
    ],
  },
  {
    id: 'hook-stream.conflict',
    says: 'A warm hook that is tried as it is saved is kept always, or only when it succeeds if the caller says so.',
    proof: kept,
  },
];

export const warmWorkspaceEndpointRules: Rule[] = [
  {
    id: 'endpoint.warm-workspace-stream',
    says: 'The stream of a warm workspace tells what its hooks write while it is warming, and how its status changes.',
    proof: [
      ...exists,
      ...warmWorkspace(
        'the stream of a warm workspace > tells what its hooks write, each change of status, and ends when it is ready',
        'the stream of a warm workspace > ends with an error when it has failed',
      ),
    ],
  },
];

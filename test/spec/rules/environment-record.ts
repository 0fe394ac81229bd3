import {
  engineBoot,
  environment,
  environmentFile,
  filePath,
  mcp,
  mcpChange,
  planSkills,
  replicaLive,
  skill,
  skillRegistry,
  variable,
  warmPool,
  warmPoolClaim,
} from '../files.ts';
import type { Rule } from '../rule.ts';

export const environmentFieldRules: Rule[] = [
  {
    id: 'environment.fields',
    says: 'An environment is made with a name, a description and a system prompt.',
    proof: environment(
      'environments > a created one has what was given, no binding, and a warm pool that is on',
    ),
  },
  {
    id: 'environment.binding',
    says: 'An environment is bound to a repository or to a set, never to both.',
    proof: environment(
      'environments > %s is refused with 400 and stores nothing',
      'environments > binding to one kind replaces the other',
    ),
  },
  {
    id: 'environment.unbound',
    says: 'An environment may be bound to nothing.',
    proof: environment(
      'environments > a created one has what was given, no binding, and a warm pool that is on',
    ),
  },
  {
    id: 'environment.counts',
    says: 'A listed environment has counts of its variables, files, skills and MCP servers.',
    proof: [
      ...environment('environments > the list has Global first and the right counts'),
      ...environmentFile('files of the Global environment are reached by its name, and counted'),
      ...mcp('servers of the Global environment are reached by its name, and counted'),
      ...skill('the skills of an environment > a skill is enabled, listed, counted and disabled again'),
    ],
  },
];

export const variableRules: Rule[] = [
  {
    id: 'variable.fields',
    says: 'A variable has a key and a value.',
    proof: variable('environment variables > PATCH changes the value, the key, or both'),
  },
  {
    id: 'variable.sealed',
    says: 'A value is encrypted where it is kept, and comes back in clear.',
    proof: variable('environment variables > a value comes back in clear and is sealed in the database'),
  },
  {
    id: 'variable.unique',
    says: 'An environment has a key once.',
    proof: variable('environment variables > a key is taken once per environment, also under a race'),
  },
];

export const fileRules: Rule[] = [
  {
    id: 'file.fields',
    says: 'A file has a name, a path and content.',
    proof: environmentFile('a file is added, listed, read, changed and removed'),
  },
  {
    id: 'file.path',
    says: 'A path lies in the home directory.',
    proof: filePath(
      'a path below the home directory is kept as ~/… > %s',
      'anything else is refused with a sentence > %j',
    ),
  },
  {
    id: 'file.content',
    says: 'Content has at most 65,536 bytes.',
    proof: environmentFile('the content holds 65,536 bytes and not one more > %s'),
  },
  {
    id: 'file.placed',
    says: 'A file lies at its path when the workspace is ready.',
    proof: [
      ...engineBoot('a whole plan makes a whole workspace'),
      ...replicaLive(
        'a replica in a real sandbox > has repository, variables, files and prompt in place, and its hooks have run',
      ),
    ],
  },
];

export const skillRules: Rule[] = [
  {
    id: 'skill.fields',
    says: 'A skill has a name, a slug and the URL of its source.',
    proof: skill(
      'the skills of an environment > a skill is enabled, listed, counted and disabled again',
      'the skills of an environment > %s is a 400 and nothing is stored',
    ),
  },
];

const scanned = skillRegistry(
  'a skill registry > is scanned when it is added, and listed with what was found',
);

export const registryRules: Rule[] = [
  { id: 'registry.create', says: 'A registry is added by the URL of a git repository.', proof: scanned },
  {
    id: 'registry.fields',
    says: 'A registry shows what it is, where it lies and what went wrong.',
    proof: scanned,
  },
  { id: 'registry.skills', says: 'A registry shows the skills that were found in it.', proof: scanned },
  {
    id: 'registry.installed',
    says: 'Skills of a registry are installed into workspaces.',
    proof: [
      ...planSkills('skills of a registry > are whole folders under the name they give themselves'),
      ...engineBoot('a whole plan makes a whole workspace'),
    ],
  },
];

const added = mcp('a server is added, listed, read, changed and removed');

export const mcpRules: Rule[] = [
  { id: 'mcp.id', says: 'An MCP server has an id.', proof: added },
  { id: 'mcp.organization_id', says: 'An MCP server names its organization.', proof: added },
  { id: 'mcp.environment_id', says: 'An MCP server names its environment.', proof: added },
  {
    id: 'mcp.name',
    says: 'A name begins with a letter or digit, has at most 64 of them, `_` and `-`, and no reserved beginning.',
    proof: mcp('a name > %s is taken', 'a name > %j is refused'),
  },
  {
    id: 'mcp.transport',
    says: 'The transport is stdio, http or sse.',
    proof: [...added, ...mcp('a bad request is refused and stores nothing > %s')],
  },
  {
    id: 'mcp.config',
    says: 'The config of stdio has a command, that of http and sse a URL, each with what belongs to it.',
    proof: mcpChange(
      'a config is taken as it is given, with fields that are not known > %s %j',
      'a config that could not work is refused > %s %j',
    ),
  },
  { id: 'mcp.times', says: 'An MCP server shows when it was made and changed.', proof: added },
  { id: 'mcp.wrapped', says: 'An answer has the server under `environment_mcp`.', proof: added },
];

export const warmPoolRules: Rule[] = [
  {
    id: 'warm-pool.fields',
    says: 'An answer has the pool under `warm_pool`, with every field.',
    proof: warmPool('a new environment has a warm pool that is on, and PUT switches it'),
  },
  {
    id: 'warm-pool.counts',
    says: 'A pool counts its workspaces by what they are.',
    proof: [
      ...warmPool(
        'the counts are those of the workspaces in the pool, and its snapshot that of the present generation',
      ),
      ...warmPoolClaim('fills to its size with workspaces that share one snapshot'),
    ],
  },
  {
    id: 'warm-pool.target',
    says: 'The size of a pool cannot be set.',
    proof: warmPool('a bad request is refused and changes nothing > target_size cannot be set'),
  },
];

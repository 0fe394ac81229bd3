import {
  agentsLive,
  apiKey,
  automation,
  automationRun,
  chat,
  environment,
  environmentFile,
  hook,
  mcp,
  replicaLive,
  repository,
  repositorySet,
  skill,
  variable,
  walk,
  warmWorkspace,
} from '../files.ts';
import type { Rule } from '../rule.ts';

/** Every answer of the walk is held against the contract, which settles what the specification leaves open. */
const described = walk('every operation > %s succeeds for everybody who may call it');

export const recordGapRules: Rule[] = [
  {
    id: 'gap.replica',
    says: 'The record of a replica has what the contract says: engine, diffs, environment.',
    proof: [
      ...described,
      ...replicaLive(
        'a replica in a real sandbox > has repository, variables, files and prompt in place, and its hooks have run',
      ),
      ...agentsLive(
        'agents in real sandboxes > $agent > changes a file at the first message, and diff, history and stream show it',
      ),
    ],
  },
  {
    id: 'gap.chat',
    says: 'The record of a chat has what the contract says.',
    proof: [...described, ...chat('chats > are opened, listed and deleted')],
  },
  {
    id: 'gap.environment',
    says: 'The record of an environment has what the contract says.',
    proof: [
      ...described,
      ...environment(
        'environments > a created one has what was given, no binding, and a warm pool that is on',
      ),
    ],
  },
  {
    id: 'gap.automation',
    says: 'The records of an automation and of an execution have what the contract says.',
    proof: [
      ...described,
      ...automation('an automation > has every field of its record, with defaults for what was not given'),
      ...automationRun(
        'a run that somebody asks for > makes a replica as the automation says, and ends with its turn',
      ),
    ],
  },
  {
    id: 'gap.attachments',
    says: 'The records of variables, files, skills and MCP servers have what the contract says.',
    proof: [
      ...described,
      ...variable('environment variables > a value comes back in clear and is sealed in the database'),
      ...environmentFile('a file is added, listed, read, changed and removed'),
      ...skill('the skills of an environment > a skill is enabled, listed, counted and disabled again'),
      ...mcp('a server is added, listed, read, changed and removed'),
    ],
  },
  {
    id: 'gap.repository',
    says: 'The records of repositories and sets have what the contract says.',
    proof: [
      ...repository(
        'connecting > the list for replicas has four fields, with the branch that was asked for before any check',
      ),
      ...repositorySet('a set keeps its repositories in the order given'),
    ],
  },
  {
    id: 'gap.hook',
    says: 'The record of a hook has what the contract says.',
    proof: hook('a %s hook > is saved, read and replaced by the next version'),
  },
  {
    id: 'gap.warm-workspace',
    says: 'The record of a warm workspace has what the contract says.',
    proof: warmWorkspace('the workspaces of a warm pool > are listed, the newest 10 of them'),
  },
  {
    id: 'gap.api-key',
    says: 'The record of an API key has what the contract says.',
    proof: [
      ...described,
      ...apiKey('$kind API keys > a key is shown once, works at once, and only its hash is stored'),
    ],
  },
];

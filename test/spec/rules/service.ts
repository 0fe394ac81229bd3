import {
  agentsLive,
  automationCron,
  canvas,
  canvasEngine,
  chat,
  chatHistory,
  chatQueue,
  chatTurn,
  codingAgent,
  customWebhook,
  environment,
  event,
  gitEvent,
  gitEventListen,
  hookLog,
  openapi,
  plan,
  replica,
  replicaLive,
  replicaRequest,
  repository,
  repositorySet,
  usage,
  wakeLive,
  webhook,
} from '../files.ts';
import type { Rule } from '../rule.ts';

export const serviceRules: Rule[] = [
  {
    id: 'service.replicas',
    says: 'An organization has replicas; the agent of each gets a message at the creation and more of them later.',
    proof: [
      ...chatTurn(
        'turns in a running replica > the message of the creation is the first turn, and later ones follow in order',
      ),
      ...replica('reading replicas > keeps organizations apart'),
    ],
  },
  {
    id: 'service.asynchronous',
    says: 'A workspace and its agent become ready beside the request; what sleeps is woken by some calls.',
    proof: [
      ...replica(
        'creating a replica > answers with the version at once, and becomes active',
        'sleeping and waking > wakes on a read, which says so',
      ),
      ...wakeLive('waking a real sandbox > takes %s'),
    ],
  },
  {
    id: 'service.environments',
    says: 'A replica is made from an environment, which has variables, files, skills, registries, MCP servers, hooks and a pool, and may be bound.',
    proof: [
      ...replicaRequest(
        'the environment of a new replica > is the named one, whose bound repository the replica has',
      ),
      ...replicaLive(
        'a replica in a real sandbox > has repository, variables, files and prompt in place, and its hooks have run',
      ),
      ...agentsLive(
        'agents in real sandboxes > $agent > remembers, and has what the environment gives; the key is added outside',
      ),
    ],
  },
  {
    id: 'service.global',
    says: 'An organization has one Global environment; every workspace gets what it holds, and `global` names it in paths.',
    proof: [
      ...environment(
        'the Global environment > appears on first access and only once under a race',
        'the Global environment > can be named by its id as well as by the word',
      ),
      ...plan(
        'a plan > has variables, files and MCP servers of the environment over those of the Global one',
      ),
    ],
  },
  {
    id: 'service.chats',
    says: 'A replica has several chats of one agent each; messages queue while the agent works, and queues can be read and changed.',
    proof: [
      ...chatTurn(
        'turns in a running replica > messages that many clients send to several chats are each answered once and in order',
      ),
      ...chatQueue(
        'the queue of a chat > does not hold the message in work',
        'the queue of a chat > is cleared without touching the message in work',
        'the queue of a chat > moves a message %s',
        'the queue of a chat > loses one message that is removed, and only once',
      ),
    ],
  },
  {
    id: 'service.events',
    says: 'What happens to a replica is streamed, and posted to the URL that its creator names.',
    proof: [
      ...event('a replica that is created is followed from preparing to active'),
      ...webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
    ],
  },
  {
    id: 'service.reads',
    says: 'Repositories, sets of them, history, hook logs and the canvas can be read.',
    proof: [
      ...repository(
        'connecting > the list for replicas has four fields, with the branch that was asked for before any check',
      ),
      ...repositorySet('a set keeps its repositories in the order given'),
      ...chatHistory('history > is paged from the end, oldest first within a page'),
      ...canvas('the canvas of a replica > lists what its agent shows, by name'),
      ...canvasEngine('the canvas > is copied as it changes, without being asked'),
      ...hookLog('the hook logs of a replica > show each hook with what it wrote and how it ended'),
    ],
  },
  {
    id: 'service.automations',
    says: 'Automations start replicas by cron, by events of git hosts and by custom webhooks.',
    proof: [
      ...automationCron('a run of a schedule is an execution with a replica of its own, and no payload'),
      ...gitEvent('an event of GitHub > sets off a run, which gets all that GitHub said'),
      ...gitEventListen('an event of GitLab > sets off a run when its token is right'),
      ...customWebhook(
        'a call of the address of an automation > starts a run with its body at the end of the prompt',
      ),
    ],
  },
  {
    id: 'service.agents',
    says: 'The agents are claude, codex, cursor and opencode; the last two need a credential of the organization.',
    proof: [
      ...codingAgent(
        'the settings of each agent are set, read, replaced and removed, and the key is never shown',
      ),
      ...chat('sending a message > %s needs a credential of the organization'),
      ...replica('creating a replica > refuses %s and makes nothing'),
    ],
  },
  {
    id: 'service.programmatic',
    says: 'Programs use the API and automations: no other way in exists besides those of the contract and the login.',
    proof: openapi(
      'the routes of the service > are those of the contract, each with a handler, and those of the login',
    ),
  },
  {
    id: 'service.metering',
    says: 'Use of replicas of the API is metered for itself.',
    proof: usage('usage > counts begun minutes at the rate of the size, by day, replica and source'),
  },
];

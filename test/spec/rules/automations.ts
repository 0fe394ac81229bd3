import {
  agentChoice,
  automation,
  automationCron,
  automationDebounce,
  automationFields,
  automationOrder,
  automationRun,
  cron,
  customWebhook,
  debounceModel,
  endpoints,
  gitEventListen,
  gitEventMapping,
  replicaRequest,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const record = automation(
  'an automation > has every field of its record, with defaults for what was not given',
);
const given = automationFields('an automation > with %j is kept as it was given');
const refused = automationFields('an automation > with %j is refused');
const listed = automationFields('executions are listed newest first, in pages, and go with their automation');
const ran = automationRun(
  'a run that somebody asks for > makes a replica as the automation says, and ends with its turn',
);
const told = automationFields(
  'a run tells the agent the prompt with the model, the level and the modes of its automation',
);
const exists = endpoints('the contract > has the endpoints of %s');

export const automationFieldRules: Rule[] = [
  { id: 'automation.name', says: 'An automation has a name.', proof: [...record, ...refused] },
  { id: 'automation.prompt', says: 'An automation has a prompt.', proof: [...record, ...refused, ...ran] },
  {
    id: 'automation.environment_id',
    says: 'Its environment gives repositories, variables, MCP servers and skills.',
    proof: [
      ...ran,
      ...refused,
      ...replicaRequest(
        'the environment of a new replica > is the named one, whose bound repository the replica has',
      ),
    ],
  },
  {
    id: 'automation.scope',
    says: 'It is of the organization, or of a person when that is asked for.',
    proof: [...record, ...automation('personal automations > are there for their owner only'), ...refused],
  },
  {
    id: 'automation.triggers',
    says: 'It has triggers of cron, github, gitlab or custom.',
    proof: [...given, ...refused, ...automation('an automation > is refused with %s')],
  },
  {
    id: 'automation.enabled',
    says: 'It can be switched off and on.',
    proof: [
      ...automation('a change > switches it off and on: it fires never, then next from that time'),
      ...gitEventListen('an automation listens > to its event, while it is on'),
      ...customWebhook(
        'a call is refused in one way > when the automation is switched off, and not when it is on again',
      ),
    ],
  },
  {
    id: 'automation.workspace_lifecycle_policy',
    says: 'Its replicas have its policy.',
    proof: [...ran, ...given, ...refused],
  },
  {
    id: 'automation.workspace_size',
    says: 'Its replicas have its size, small when none is named.',
    proof: [...record, ...ran, ...given, ...refused],
  },
  {
    id: 'automation.agent_provider',
    says: 'It may name one of the agents.',
    proof: [...told, ...given, ...refused],
  },
  {
    id: 'automation.model',
    says: 'It may name a model of that agent.',
    proof: [
      ...told,
      ...agentChoice('an agent, its model and its modes > %j is refused with %s'),
      ...automation('an automation > is refused with %s'),
    ],
  },
  {
    id: 'automation.thinking_level',
    says: 'It may name a thinking level.',
    proof: [...told, ...given, ...refused],
  },
  {
    id: 'automation.debounce_seconds',
    says: 'It waits 0 to 86400 seconds for silence; 0 and null do not wait.',
    proof: [
      ...record,
      ...given,
      ...refused,
      ...automationFields('with a debounce of %s no event waits for another'),
      ...automationDebounce('a burst of events is one run with the last of them'),
    ],
  },
  {
    id: 'automation.cron',
    says: 'A cron trigger has a schedule and a zone.',
    proof: [
      ...automation(
        'an automation > is refused with %s',
        'a change > of the schedule moves the next fire, and without one there is none',
        'the preview of a schedule > names the next five fires, across the change to summer time',
      ),
      ...automationCron('three services on one database begin each fire of a schedule once'),
      ...cron(
        'a schedule is taken > %s',
        'a schedule is refused > %s',
        'a schedule is refused > in the zone %j',
      ),
    ],
  },
  {
    id: 'automation.git',
    says: 'A github or gitlab trigger has an event.',
    proof: [
      ...given,
      ...refused,
      ...gitEventMapping('the mapping of events > every trigger of %s comes from an event'),
    ],
  },
];

export const automationEndpointRules: Rule[] = [
  {
    id: 'endpoint.automations',
    says: 'Automations are listed by page and scope.',
    proof: [
      ...exists,
      ...automation(
        'a list > is in pages, newest first, with the number of pages',
        'personal automations > are listed by scope',
      ),
    ],
  },
  {
    id: 'endpoint.create-automation',
    says: 'An automation is made of its fields.',
    proof: [...exists, ...record, ...given],
  },
  { id: 'endpoint.automation', says: 'An automation is read.', proof: [...exists, ...record] },
  {
    id: 'endpoint.change-automation',
    says: 'Only what is given changes; null clears agent, model and level, and another agent clears the model.',
    proof: [
      ...exists,
      ...automation(
        'a change > leaves alone what is not named',
        'a change > %s',
        'a change > clears the debounce with null',
      ),
    ],
  },
  {
    id: 'endpoint.delete-automation',
    says: 'An automation is deleted with its executions.',
    proof: [
      ...exists,
      ...listed,
      ...automation('an automation > is gone with its history when it is deleted, and a second time is 404'),
    ],
  },
  {
    id: 'endpoint.trigger',
    says: 'An automation with a cron trigger is run, which makes a replica and an execution.',
    proof: [...exists, ...ran, ...automationRun('a run that somebody asks for > needs a cron trigger')],
  },
  { id: 'endpoint.executions', says: 'Executions are listed by page.', proof: [...exists, ...listed] },
  {
    id: 'automation.org-keys',
    says: 'An org key does nothing with automations of persons.',
    proof: automation(
      'personal automations > are there for their owner only',
      'personal automations > are listed by scope',
    ),
  },
  {
    id: 'automation.personal-runs',
    says: 'Replicas of an automation of a person are theirs, of source `automation`, and metered as such.',
    proof: automationOrder(
      'runs of a personal automation > have replicas of the owner, which count as automation in the usage',
    ),
  },
  {
    id: 'automation.debounce',
    says: 'Events in a burst are one run, with the last payload, after the silence.',
    proof: [
      ...automationDebounce(
        'a burst of events is one run with the last of them',
        'each event puts the run off anew',
        'a service that is killed between the events and the run begins it once when it is back',
      ),
      ...debounceModel(
        'runs are those that the times of the events say, whoever looks, restarts or dies in between',
      ),
    ],
  },
];

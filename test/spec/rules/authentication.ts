import {
  account,
  apiKey,
  authenticate,
  automation,
  automationOrder,
  chat,
  command,
  customWebhook,
  preview,
  publishedApi,
  replica,
  walk,
  webhook,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const refused = walk('every operation > %s refuses everybody who may not call it');

export const authenticationRules: Rule[] = [
  {
    id: 'auth.bearer',
    says: 'Every operation but the custom webhook takes a key as bearer, which names the organization.',
    proof: [
      ...walk('every operation > %s succeeds for everybody who may call it'),
      ...refused,
      ...account('GET /v1/me > tells an org key, a personal key and a person apart'),
    ],
  },
  {
    id: 'auth.kinds',
    says: 'A key is of the organization or of a person.',
    proof: [
      ...account('GET /v1/me > tells an org key, a personal key and a person apart'),
      ...apiKey('who may not > an org key is no personal key of the admin who made it'),
    ],
  },
  {
    id: 'auth.created-by',
    says: 'Admins make keys of the organization, any member their own.',
    proof: apiKey(
      'who may not > a member manages no org keys: 403',
      '$kind API keys > a key is shown once, works at once, and only its hash is stored',
    ),
  },
  {
    id: 'auth.attribution',
    says: 'What an org key does is of the service bot, what a personal key does is of its owner.',
    proof: [
      ...replica('reading replicas > shows the owner of a personal key, and finds by them'),
      ...chat('senders > an org key may say for whom it speaks', 'senders > a person speaks for themselves'),
    ],
  },
  {
    id: 'auth.org-automations',
    says: 'Both kinds of keys manage automations of the organization.',
    proof: automation(
      'personal automations > of the organization are managed by every member',
      'a change > leaves alone what is not named',
    ),
  },
  {
    id: 'auth.personal-automations',
    says: 'A personal key manages automations of its owner, an org key none.',
    proof: automation(
      'personal automations > are there for their owner only',
      'personal automations > are listed by scope',
    ),
  },
  {
    id: 'auth.use',
    says: 'A replica of an automation of a person is that person’s.',
    proof: automationOrder(
      'runs of a personal automation > have replicas of the owner, which count as automation in the usage',
    ),
  },
  {
    id: 'auth.jwt',
    says: 'Personal keys are managed with a JWT and with no key; the command line uses a JWT.',
    proof: [
      ...apiKey('$kind API keys > a key on the key paths is refused with 401, whatever it may do elsewhere'),
      ...authenticate("a person's JWT > speaks for the person with the role of this moment"),
      ...command(
        'replica > keys creates, lists and deletes keys for the first admin of this machine',
        'replica > login with a password keeps a session that only its owner can read',
      ),
    ],
  },
  {
    id: 'auth.refused',
    says: 'A request without a valid key is 401.',
    proof: [
      ...refused,
      ...walk('a credential that is not valid > is refused by every operation, whatever is wrong with it'),
    ],
  },
  {
    id: 'auth.custom-webhook',
    says: 'The custom webhook needs no key: whoever knows the token may fire it.',
    proof: [
      ...customWebhook(
        'a call of the address of an automation > needs no credential and looks at none',
        'a call is refused in one way > with the token %s',
      ),
      ...publishedApi(
        'openApiDocument > says of an operation for anyone that it takes no API key, whatever else it takes',
      ),
    ],
  },
  {
    id: 'auth.engine',
    says: 'A program inside a workspace speaks with the secret of its engine and the id of its workspace.',
    proof: preview(
      'a program inside a replica > registers and removes previews of its own replica',
      'a program inside a replica > is refused with another secret, an API key, none, or the id of another replica',
    ),
  },
  {
    id: 'auth.webhooks',
    says: 'Deliveries are known by their signature.',
    proof: webhook('what is told > the life of a replica arrives in order, with exact headers, and signed'),
  },
];

import {
  apiKey,
  chat,
  chatTurn,
  customWebhook,
  preview,
  repoSkill,
  repositorySet,
  walk,
  warmWorkspace,
} from '../files.ts';
import type { Rule } from '../rule.ts';

const answers = walk('every operation > %s succeeds for everybody who may call it');

/** Operations whose paths the contract settles. */
export const incompleteEndpointRules: Rule[] = [
  {
    id: 'endpoint.create-key',
    says: 'A personal key is made with a JWT.',
    proof: apiKey(
      '$kind API keys > a key is shown once, works at once, and only its hash is stored',
      '$kind API keys > a key on the key paths is refused with 401, whatever it may do elsewhere',
    ),
  },
  {
    id: 'endpoint.list-keys',
    says: 'A person lists their own keys by page.',
    proof: apiKey(
      '$kind API keys > the list has pages, newest first',
      "who may not > a person sees and deletes only their own keys, an admin's included",
    ),
  },
  {
    id: 'endpoint.delete-key',
    says: 'A person deletes their own keys only.',
    proof: apiKey(
      '$kind API keys > a deleted key is gone, and deleting it again is 404',
      "who may not > a person sees and deletes only their own keys, an admin's included",
    ),
  },
  {
    id: 'endpoint.fire',
    says: 'A custom webhook is fired by the token in its URL, and its body is in the prompt.',
    proof: customWebhook(
      'a call of the address of an automation > starts a run with its body at the end of the prompt',
      'a call of the address of an automation > needs no credential and looks at none',
      'a call is refused in one way > with the token %s',
    ),
  },
  {
    id: 'endpoint.repository-sets',
    says: 'Sets of repositories are listed.',
    proof: [...answers, ...repositorySet('a set keeps its repositories in the order given')],
  },
  {
    id: 'endpoint.repo-skills',
    says: 'What the default branch of a bound repository has for agents is listed.',
    proof: repoSkill(
      'the skills of bound repositories > are skills, agents, commands, prompts and rules of the default branch',
    ),
  },
  {
    id: 'endpoint.warm-workspaces',
    says: 'The newest ten workspaces of a pool are listed.',
    proof: warmWorkspace('the workspaces of a warm pool > are listed, the newest 10 of them'),
  },
  {
    id: 'endpoint.delete-chat',
    says: 'A chat is deleted.',
    proof: [
      ...chat('chats > are opened, listed and deleted'),
      ...chatTurn('turns in a running replica > a chat is deleted while its turn runs'),
    ],
  },
  {
    id: 'endpoint.delete-preview',
    says: 'A preview of a replica of the organization is removed.',
    proof: preview(
      'removing a preview > answers with its port, and 404 when there is none',
      "registering a preview > is not possible for another organization's replica",
    ),
  },
  {
    id: 'endpoint.delete-own-preview',
    says: 'A program inside removes a preview with the id of its workspace and the secret of its engine.',
    proof: preview(
      'a program inside a replica > registers and removes previews of its own replica',
      'a program inside a replica > is refused with another secret, an API key, none, or the id of another replica',
    ),
  },
];

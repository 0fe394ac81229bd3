import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperationName } from '../../src/contract/operations.ts';
import type { ApiAnswer } from '../world/world.ts';
import {
  type LooseCall,
  operationNames,
  operationOf,
  outcome,
  send,
  someOf,
  usualCaller,
  withHeaders,
} from './call.ts';
import { exampleOf } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { bodySchema, branchesOf, isIdSchema, parametersOf } from './published.ts';
import { type Stage, startStage } from './stage.ts';
import { hashContent } from './tables.ts';

/**
 * Two organizations side by side. One has what the other asks for; the other must not be able to tell. That answers name
 * nothing of it either is seen in walk.test.ts.
 */
let stage: Stage;
let theirs: Fixture;
let ours: Fixture;
beforeAll(async () => {
  stage = await startStage();
  theirs = await makeFixture(stage);
  ours = await makeFixture(stage);
});
afterAll(() => stage?.close());

// Who has the id of an invitation may accept it: there is no organization yet from which they would come.
const withParams = operationNames.filter(
  (name) => operationOf(name).params && usualCaller(name) !== 'nobody',
);
const noIds = [
  ...['nothing', '0', 'null', '%00', '\0', "' or 1=1 --", '../..'],
  ...[randomUUID().slice(1), `${randomUUID()}0`, randomUUID().replaceAll('-', ''), 'a'.repeat(900)],
];
const idParams = (name: OperationName) =>
  parametersOf(name, 'path').filter(({ schema }) => isIdSchema(schema));

describe("another organization's ids in the path", () => {
  test.each(withParams.filter((name) => idParams(name).length > 0))(
    '%s cannot tell them from ids that never were',
    async (name) => {
      const who = usualCaller(name);
      const foreign = await exampleOf(name, theirs, who);
      const own = await exampleOf(name, ours, who);
      await stage.settle();
      const before = await hashContent(stage.world.pool);
      for (const call of foreignCalls(name, { foreign, own })) {
        const found = await send(ours.callers[who], name, call.foreign);
        const absent = await send(ours.callers[who], name, call.absent);
        expect(outcome(found), JSON.stringify(call.foreign)).toBe('404 not_found');
        expect(shown(found)).toEqual(shown(absent));
      }
      expect(await hashContent(stage.world.pool)).toBe(before);
    },
  );

  test.each(withParams)('%s answers to what is no id as to an id that never was', async (name) => {
    const who = usualCaller(name);
    const own = await exampleOf(name, ours, who);
    for (const { name: param } of parametersOf(name, 'path')) {
      const absent = await send(ours.callers[who], name, withParam(own, param, randomUUID()));
      expect(outcome(absent)).toBe('404 not_found');
      // The first log has an index that would be no id.
      const texts = noIds.filter((text) => param !== 'index' || text !== '0');
      for (const text of someOf(texts, withParams.indexOf(name))) {
        const answer = await send(ours.callers[who], name, withParam(own, param, text));
        expect(shown(answer), `${param} = ${text}`).toEqual(shown(absent));
      }
    }
  });

  test('say nothing about whether an invitation for another address exists', async () => {
    const real = await exampleOf('acceptInvitation', theirs, 'nobody');
    const other = { ...real, body: { ...(real.body as object), email: 'somebody.else@example.com' } };
    const absent = withParam(other, 'invitationId', randomUUID());
    const [found, missing] = [
      await send(stage.world.call, 'acceptInvitation', other),
      await send(stage.world.call, 'acceptInvitation', absent),
    ];
    expect(outcome(found)).toBe('404 not_found');
    expect(shown(found)).toEqual(shown(missing));
  });
});

describe("another organization's ids in the headers", () => {
  const inside = operationNames.filter((name) => usualCaller(name) === 'engine');

  test.each(inside)('%s cannot tell a foreign replica from one that never was', async (name) => {
    const call = await exampleOf(name, ours, 'engine');
    const named = (id: string) =>
      send(ours.callers.engine, name, withHeaders(call, { 'x-workspace-id': id }));
    await stage.settle();
    const before = await hashContent(stage.world.pool);
    const absent = await named(randomUUID());
    for (const id of [theirs.insideId, ours.replicaId]) {
      const found = await named(id);
      expect(outcome(found)).toBe('404 not_found');
      expect(shown(found)).toEqual(shown(absent));
    }
    expect(await hashContent(stage.world.pool)).toBe(before);
  });
});

describe("another organization's ids in the body", () => {
  const fields = operationNames
    .flatMap((name) => idFields(name).map((field) => ({ name, field })))
    // The id of a new chat is made by the caller and names nothing that is there.
    .filter(({ name, field }) => name !== 'createChat' || field !== 'id');

  test('are looked for in every field that takes an id', () => {
    expect(fields.map(({ name, field }) => `${name} ${field}`).sort()).toEqual([
      'createAutomation environment_id',
      'createEnvironment repository_id',
      'createEnvironment repository_set_id',
      'createReplica environment_id',
      'createReplica repository_ids',
      'createReplica repository_set_id',
      'createRepository credential_id',
      'createRepositorySet repository_ids',
      'reorderQueue messageId',
      'sendMessage chat_id',
      'sendMessage senderUserId',
      'updateAutomation environment_id',
      'updateEnvironment repository_id',
      'updateEnvironment repository_set_id',
      'updateRepository credential_id',
      'updateRepositorySet repository_ids',
    ]);
  });

  test.each(fields)('$name refuses $field as it refuses an id that never was', async ({ name, field }) => {
    const who = usualCaller(name);
    const own = await exampleOf(name, ours, who);
    const body = { ...(own.body as object), repository_id: undefined, environment_id: undefined };
    await stage.settle();
    const before = await hashContent(stage.world.pool);
    const foreign = await send(ours.callers[who], name, {
      ...own,
      body: { ...body, [field]: foreignId(field, theirs) },
    });
    const absent = await send(ours.callers[who], name, {
      ...own,
      body: { ...body, [field]: field.endsWith('ids') ? [randomUUID()] : randomUUID() },
    });
    const isSender = field === 'senderUserId';
    expect(outcome(foreign)).toBe(isSender ? '400 invalid_request' : '404 not_found');
    expect(shown(foreign)).toEqual(shown(absent));
    expect(await hashContent(stage.world.pool)).toBe(before);
  });
});

/** All ids foreign, and one foreign id at a time among our own; each beside the same call with absent ids. */
function foreignCalls(name: OperationName, { foreign, own }: { foreign: LooseCall; own: LooseCall }) {
  const params = idParams(name).map((param) => param.name);
  const sets = params.length > 1 ? [params, ...params.map((param) => [param])] : [params];
  return sets.map((replaced) => ({
    foreign: replaced.reduce((call, param) => withParam(call, param, foreign.params?.[param] ?? ''), own),
    absent: replaced.reduce((call, param) => withParam(call, param, randomUUID()), own),
  }));
}

function withParam(call: LooseCall, param: string, value: string): LooseCall {
  return { ...call, params: { ...call.params, [param]: value } };
}

function idFields(name: OperationName): string[] {
  const schema = bodySchema(name);
  if (!schema) return [];
  const fields = branchesOf(schema).flatMap(({ properties = {} }) => Object.entries(properties));
  const isId = (field: (typeof fields)[number][1]) =>
    branchesOf(field).some((branch) => isIdSchema(branch) || (branch.items && isIdSchema(branch.items)));
  return [...new Set(fields.filter(([, field]) => isId(field)).map(([field]) => field))];
}

function foreignId(field: string, fixture: Fixture): unknown {
  const ids: Record<string, unknown> = {
    repository_id: fixture.repositoryId,
    repository_set_id: fixture.repositorySetId,
    credential_id: fixture.credentialId,
    repository_ids: [fixture.repositoryId],
    environment_id: fixture.environmentId,
    chat_id: fixture.chatId,
    messageId: fixture.messageId,
    senderUserId: fixture.member.id,
  };
  return ids[field];
}

/** Everything of an answer by which two could be told apart, apart from the request's own id and the count of requests. */
function shown({ status, body, headers }: ApiAnswer) {
  const own = new Set(['x-request-id', 'date', 'ratelimit-remaining', 'ratelimit-reset']);
  return { status, body, headers: [...headers].filter(([name]) => !own.has(name)) };
}

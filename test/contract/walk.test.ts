import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeApiKey } from '../../src/account/api-key-format.ts';
import type { Access } from '../../src/contract/operation.ts';
import { caller } from '../world/world.ts';
import {
  callersOf,
  everyone,
  operationNames,
  operationOf,
  outcome,
  send,
  someOf,
  usualCaller,
  type Who,
  withHeaders,
} from './call.ts';
import { expectDescribed, expectErrorDescribed } from './description.ts';
import { exampleOf } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { type Stage, startStage } from './stage.ts';
import { createTokenForger } from './token-forger.ts';

let stage: Stage;
let fixture: Fixture;
let foreignIds: string[];
beforeAll(async () => {
  stage = await startStage();
  fixture = await makeFixture(stage);
  foreignIds = idsOf(await makeFixture(stage));
  expect(foreignIds.length).toBeGreaterThan(20);
});
afterAll(() => stage?.close());

const closed = operationNames.filter((name) => usualCaller(name) !== 'nobody');

describe('every operation', () => {
  test.each(operationNames)('%s succeeds for everybody who may call it', async (name) => {
    for (const who of callersOf(name)) {
      const requestId = `client-${randomUUID()}`;
      const call = await exampleOf(name, fixture, who);
      const sent = withHeaders(call, { 'x-request-id': requestId });
      const answer = await send(fixture.callers[who], name, sent);
      const shown = JSON.stringify(answer.body);
      expect(answer.status, `${who}: ${shown}`).toBeLessThan(300);
      expect(answer.headers.get('x-request-id')).toBe(requestId);
      expectDescribed(name, call, answer);
      // Nothing is named that another organization has.
      expect(foreignIds.filter((id) => shown.includes(id))).toEqual([]);
    }
  });

  test.each(closed)('%s refuses everybody who may not call it', async (name) => {
    const { access } = operationOf(name);
    const call = withHeaders(await exampleOf(name, fixture, usualCaller(name)), { 'x-request-id': 'a b' });
    const outcomes: Partial<Record<Who, string>> = {};
    const made = new Set<string | null>();
    for (const who of everyone.filter((one) => !callersOf(name).includes(one))) {
      const answer = await send(fixture.callers[who], name, call);
      outcomes[who] = outcome(answer);
      expectErrorDescribed(name, answer);
      made.add(answer.headers.get('x-request-id'));
    }
    expect(outcomes).toEqual(refusedBy[access]);
    // An id that cannot be taken over is replaced by one of its own for each request.
    expect(made.size).toBe(Object.keys(outcomes).length);
    expect(made).not.toContain('a b');
  });
});

/** An API key never passes for a person, a member never for an admin, and an engine for nobody but itself. */
const nobody = '401 unauthenticated';
const strangers = { nobody, engine: nobody };
const refusedBy: Record<Access, Partial<Record<Who, string>>> = {
  // Of those that anyone may call, some take the secret of a sandbox.
  anyone: { nobody, org_key: nobody, personal_key: nobody, member: nobody, admin: nobody },
  member: strangers,
  admin: { ...strangers, personal_key: '403 forbidden', member: '403 forbidden' },
  person: { ...strangers, org_key: nobody, personal_key: nobody },
  admin_person: { ...strangers, org_key: nobody, personal_key: nobody, member: '403 forbidden' },
};

describe('a credential that is not valid', () => {
  test('is refused by every operation, whatever is wrong with it', async () => {
    const credentials = Object.entries(await badCredentials());
    for (const [index, name] of closed.entries()) {
      const call = await exampleOf(name, fixture, usualCaller(name));
      for (const [kind, authorization] of someOf(credentials, index)) {
        const answer = await send(fixture.callers.nobody, name, withHeaders(call, { authorization }));
        expect(outcome(answer), `${name} with ${kind}`).toBe('401 unauthenticated');
      }
    }
  });

  test('is judged by what is wrong with it: the same token with the fault repaired is let in', async () => {
    const forge = await createTokenForger(stage.world);
    const person = { personId: fixture.admin.id, organizationId: fixture.org.id };
    const call = caller(stage.world.url, await forge(person, { expiresInSeconds: 60 }));
    expect(outcome(await send(call, 'getCaller', {}))).toBe('200');
  });
});

function idsOf(other: Fixture): string[] {
  const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  return [...new Set(JSON.stringify({ ...other, stage: null }).match(uuid))];
}

async function badCredentials(): Promise<Record<string, string>> {
  const forge = await createTokenForger(stage.world);
  const person = { personId: fixture.admin.id, organizationId: fixture.org.id };
  const elsewhere = { ...person, organizationId: (await stage.world.org()).id };
  const deleted = await fixture.callers.admin('POST', '/v1/organization/api-keys', { name: 'deleted' });
  const isDeleted = await fixture.callers.admin(
    'DELETE',
    `/v1/organization/api-keys/${deleted.body.api_key.id}`,
  );
  expect(isDeleted.status).toBe(200);
  return {
    'words that are no key': 'Bearer garbage',
    'another scheme': `Basic ${Buffer.from(`key:${fixture.org.key}`).toString('base64')}`,
    'the key without its scheme': fixture.org.key,
    'two keys': `Bearer ${fixture.org.key} ${fixture.org.key}`,
    'a key with another last character': `Bearer ${fixture.org.key.slice(0, -1)}-`,
    'a well-formed key that nobody has': `Bearer ${makeApiKey('org', randomBytes)}`,
    'a deleted key': `Bearer ${deleted.body.key}`,
    'an expired token': `Bearer ${await forge(person, { expiresInSeconds: -60 })}`,
    'a token for another service': `Bearer ${await forge(person, { audience: 'https://elsewhere.example' })}`,
    'a token for an organization the person is not in': `Bearer ${await forge(elsewhere, {})}`,
    'a token signed by nobody': `Bearer ${unsigned(person)}`,
  };
}

function unsigned(person: { personId: string; organizationId: string }): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    sub: person.personId,
    organization_id: person.organizationId,
    iss: stage.world.url,
    aud: stage.world.url,
    exp: Math.floor(Date.now() / 1000) + 60,
  };
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`;
}

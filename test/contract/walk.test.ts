import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeApiKey } from '../../src/account/api-key-format.ts';
import { caller } from '../world/world.ts';
import { allowed, operationNames, operationOf, outcome, send, usualCaller, type Who } from './call.ts';
import { exampleOf } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { type Stage, startStage } from './stage.ts';
import { createTokenForger } from './token-forger.ts';

let stage: Stage;
let fixture: Fixture;
beforeAll(async () => {
  stage = await startStage();
  fixture = await makeFixture(stage);
});
afterAll(() => stage?.close());

const everyone = ['org_key', 'personal_key', 'member', 'admin', 'nobody'] as const satisfies Who[];
const closed = operationNames.filter((name) => operationOf(name).access !== 'anyone');

describe('every operation', () => {
  test.each(operationNames)('%s succeeds for everybody who may call it', async (name) => {
    for (const who of allowed[operationOf(name).access]) {
      const answer = await send(fixture.callers[who], name, await exampleOf(name, fixture, who));
      expect(answer.status, `${who}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    }
  });

  test.each(closed)('%s refuses everybody who may not call it', async (name) => {
    const { access } = operationOf(name);
    const call = await exampleOf(name, fixture, usualCaller(name));
    const outcomes: Partial<Record<Who, string>> = {};
    for (const who of everyone.filter((one) => !allowed[access].includes(one))) {
      outcomes[who] = outcome(await send(fixture.callers[who], name, call));
    }
    expect(outcomes).toEqual(refusedBy[access as keyof typeof refusedBy]);
  });

  test('echoes the request id it is given, and makes one in place of a bad one', async () => {
    const given = `client-${randomUUID()}`;
    const made = new Set<string | null>();
    for (const name of operationNames) {
      const who = usualCaller(name);
      const call = await exampleOf(name, fixture, who);
      const echoed = await send(fixture.callers[who], name, { ...call, headers: { 'x-request-id': given } });
      expect(echoed.headers.get('x-request-id'), name).toBe(given);
      const bad = await send(fixture.callers.nobody, name, { ...call, headers: { 'x-request-id': 'a b' } });
      made.add(bad.headers.get('x-request-id'));
    }
    expect(made.size).toBe(operationNames.length);
    expect(made).not.toContain('a b');
  });
});

/** An API key never passes for a person, and a member never for an admin. */
const nobody = '401 unauthenticated';
const refusedBy: Record<'member' | 'admin' | 'person' | 'admin_person', Partial<Record<Who, string>>> = {
  member: { nobody },
  admin: { nobody, personal_key: '403 forbidden', member: '403 forbidden' },
  person: { nobody, org_key: nobody, personal_key: nobody },
  admin_person: { nobody, org_key: nobody, personal_key: nobody, member: '403 forbidden' },
};

describe('a credential that is not valid', () => {
  test('is refused by every operation, whatever is wrong with it', async () => {
    const credentials = await badCredentials();
    for (const name of closed) {
      const call = await exampleOf(name, fixture, usualCaller(name));
      for (const [kind, authorization] of Object.entries(credentials)) {
        const answer = await send(fixture.callers.nobody, name, { ...call, headers: { authorization } });
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

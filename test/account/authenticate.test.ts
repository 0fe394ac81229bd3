import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeApiKey } from '../../src/account/api-key-format.ts';
import { createApiKeyService } from '../../src/account/api-key-service.ts';
import { createAuthenticator } from '../../src/account/authenticate.ts';
import { createIdentity, type Identity } from '../../src/account/identity.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase } from '../world/database.ts';

const log = pino({ level: 'silent' });
const secret = randomBytes(32).toString('base64url');
const baseUrl = 'https://replica.example.com';
const apiKeys = createApiKeyService({ newId, now: () => new Date(), randomBytes });

let source: { url: string; drop(): Promise<void> };
let database: Database;
let identity: Identity;
let clockMs: number;
let queries: number;

beforeAll(async () => {
  source = await createDatabase();
  database = openDatabase({ url: source.url, poolSize: 4, log });
  database.pool.on('acquire', () => {
    queries += 1;
  });
  identity = createIdentity({ db: database.db, secret, baseUrl, log });
});
afterAll(async () => {
  await database.close();
  await source.drop();
});
beforeEach(() => {
  clockMs = 0;
});

const connect = () =>
  createAuthenticator({
    db: database.db,
    baseUrl,
    log,
    now: () => new Date(Date.now() + clockMs),
    monotonicMs: () => clockMs,
  });

/** How many connections were taken from the pool meanwhile: no query goes without one. */
async function countQueries(action: () => Promise<unknown>): Promise<number> {
  queries = 0;
  await action();
  return queries;
}

async function enrol(role: 'admin' | 'member' = 'member') {
  const { db } = database;
  const email = `${newId()}@example.com`;
  const { personId, organizationId } = await db.transaction().execute(async (tx) => {
    const enrolment = identity.within(tx);
    const creatorId = await enrolment.createPerson({ email: `${newId()}@example.com`, name: 'Creator' });
    const organizationId = await enrolment.createOrganization({ name: 'Test', slug: newId(), creatorId });
    const personId = await enrolment.createPerson({ email, name: 'Person' });
    await enrolment.addMember({ organizationId, personId, role });
    return { personId, organizationId };
  });
  const org = await apiKeys.create(db, { organizationId, personId: null }, { name: 'org', createdBy: null });
  const own = await apiKeys.create(db, { organizationId, personId }, { name: 'own', createdBy: personId });
  const token = await identity.issueAccessToken({ personId, organizationId, email });
  const member = () =>
    db
      .selectFrom('member')
      .select('id')
      .where('organization_id', '=', organizationId)
      .where('person_id', '=', personId);
  const remove = () => db.deleteFrom('member').where('id', '=', member()).execute();
  const promote = () => db.updateTable('member').set({ role: 'admin' }).where('id', '=', member()).execute();
  return { personId, organizationId, email, org, own, token, remove, promote };
}

describe('API keys', () => {
  test('an org key acts as admin, a personal key with the role of its owner', async () => {
    const { org, own, organizationId, personId } = await enrol();
    const { authenticate } = connect();
    expect(await authenticate(org.key)).toEqual({
      organizationId,
      kind: 'org_key',
      keyId: org.row.id,
      personId: null,
      role: 'admin',
    });
    expect(await authenticate(own.key)).toEqual({
      organizationId,
      kind: 'personal_key',
      keyId: own.row.id,
      personId,
      role: 'member',
    });
  });

  test('a hot key costs no query, however often it is used', async () => {
    const { own } = await enrol();
    const { authenticate, lookForChanges } = connect();
    await lookForChanges();
    expect(await countQueries(() => authenticate(own.key))).toBe(1);
    const uses = async () => {
      for (let use = 0; use < 1_000; use++) expect(await authenticate(own.key)).not.toBeNull();
    };
    expect(await countQueries(uses)).toBe(0);
  });

  test('text that no key can be is refused without a query', async () => {
    const { authenticate } = connect();
    const tries = [
      '',
      'x',
      'rs_org_',
      `${makeApiKey('org', randomBytes).slice(0, -1)}!`,
      'a.b',
      'a'.repeat(4_096),
    ];
    const refuse = async () => {
      for (const token of tries) expect(await authenticate(token)).toBeNull();
    };
    expect(await countQueries(refuse)).toBe(0);
  });

  test('a well-formed key that nobody was given is refused', async () => {
    expect(await connect().authenticate(makeApiKey('org', randomBytes))).toBeNull();
  });

  test('a deleted key is gone after the next look, and others stay hot', async () => {
    const { org, own } = await enrol();
    const { authenticate, lookForChanges } = connect();
    await lookForChanges();
    await authenticate(org.key);
    await authenticate(own.key);
    await database.db.deleteFrom('api_key').where('id', '=', org.row.id).execute();
    expect(await authenticate(org.key)).not.toBeNull();
    await lookForChanges();
    expect(await authenticate(org.key)).toBeNull();
    expect(await countQueries(() => authenticate(own.key))).toBe(0);
  });

  test('a deletion in a transaction that stays open over many looks is seen once it commits', async () => {
    const { org } = await enrol();
    const { authenticate, lookForChanges } = connect();
    await lookForChanges();
    await authenticate(org.key);
    const slow = await database.pool.connect();
    await slow.query('begin');
    await slow.query('delete from api_key where id = $1', [org.row.id]);
    for (let look = 0; look < 5; look++) await lookForChanges();
    expect(await countQueries(() => authenticate(org.key))).toBe(0);
    await slow.query('commit');
    slow.release();
    await lookForChanges();
    expect(await authenticate(org.key)).toBeNull();
  });

  test('without a look for 900 ms every use reads the database', async () => {
    const { org } = await enrol();
    const { authenticate, lookForChanges } = connect();
    await lookForChanges();
    await authenticate(org.key);
    clockMs = 899;
    expect(await countQueries(() => authenticate(org.key))).toBe(0);
    await database.db.deleteFrom('api_key').where('id', '=', org.row.id).execute();
    clockMs = 900;
    expect(await authenticate(org.key)).toBeNull();
  });

  test('after a break longer than changes are kept, nothing remembered is used', async () => {
    const { org } = await enrol();
    const { authenticate, lookForChanges } = connect();
    await lookForChanges();
    await authenticate(org.key);
    await database.db.deleteFrom('api_key').where('id', '=', org.row.id).execute();
    await database.db.deleteFrom('credential_change').execute();
    clockMs = 11 * 60_000;
    await lookForChanges();
    expect(await authenticate(org.key)).toBeNull();
  });

  test('a personal key follows its owner: a new role after the next look, and no way in after removal', async () => {
    const { own, promote, remove } = await enrol();
    const { authenticate, lookForChanges } = connect();
    await lookForChanges();
    expect((await authenticate(own.key))?.role).toBe('member');
    await promote();
    await lookForChanges();
    expect((await authenticate(own.key))?.role).toBe('admin');
    await remove();
    await lookForChanges();
    expect(await authenticate(own.key)).toBeNull();
    const rows = await database.db.selectFrom('api_key').select('id').where('id', '=', own.row.id).execute();
    expect(rows).toEqual([]);
  });

  test('when a key was last used is written at the end, in one statement for all keys', async () => {
    const { org, own } = await enrol();
    const authenticator = connect();
    await authenticator.lookForChanges();
    for (const key of [org.key, own.key]) await authenticator.authenticate(key);
    const lastUsed = () =>
      database.db
        .selectFrom('api_key')
        .select('last_used_at')
        .where('id', 'in', [org.row.id, own.row.id])
        .execute();
    expect((await lastUsed()).map((row) => row.last_used_at)).toEqual([null, null]);
    expect(await countQueries(() => authenticator.stop())).toBe(1);
    for (const row of await lastUsed()) expect(row.last_used_at).toBeInstanceOf(Date);
    expect(await countQueries(() => authenticator.stop())).toBe(0);
  });
});

describe("a person's JWT", () => {
  test('speaks for the person with the role of this moment', async () => {
    const { token, personId, organizationId, promote, remove } = await enrol();
    const { authenticate } = connect();
    const person = { organizationId, kind: 'person', keyId: null, personId };
    expect(await authenticate(token)).toEqual({ ...person, role: 'member' });
    await promote();
    expect(await authenticate(token)).toEqual({ ...person, role: 'admin' });
    await remove();
    expect(await authenticate(token)).toBeNull();
  });

  test('runs out after 15 minutes', async () => {
    const { token } = await enrol();
    const { authenticate } = connect();
    clockMs = 14 * 60_000;
    expect(await authenticate(token)).not.toBeNull();
    clockMs = 15 * 60_000 + 1_000;
    expect(await authenticate(token)).toBeNull();
  });

  test('of another issuer is refused, even when our own key has signed it', async () => {
    const other = createIdentity({ db: database.db, secret, baseUrl: 'https://other.example.com', log });
    const { personId, organizationId, email } = await enrol();
    const token = await other.issueAccessToken({ personId, organizationId, email });
    expect(await connect().authenticate(token)).toBeNull();
  });

  test('that was forged is refused, whichever way', async () => {
    const { token, personId, organizationId } = await enrol();
    const { authenticate } = connect();
    const [header = '', payload = '', signature = ''] = token.split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const promoted = encode({ ...claims, organization_id: newId() });
    const publicKey = await database.db
      .selectFrom('signing_key')
      .select('public_key')
      .where('id', '=', kid)
      .executeTakeFirstOrThrow();
    const hmacInput = `${encode({ alg: 'HS256', kid })}.${payload}`;
    const foreign = generateKeyPairSync('ed25519').privateKey;
    const signedByForeign = (headers: Record<string, string>) =>
      new SignJWT({ ...claims, sub: personId, organization_id: organizationId })
        .setProtectedHeader({ alg: 'EdDSA', ...headers })
        .sign(foreign);
    const forged = {
      'other claims under the same signature': `${header}.${promoted}.${signature}`,
      'no signature': `${header}.${payload}.`,
      'alg none': `${encode({ alg: 'none', kid })}.${payload}.`,
      'the public key used as an HMAC secret': `${hmacInput}.${createHmac('sha256', publicKey.public_key).update(hmacInput).digest('base64url')}`,
      'a foreign key under our key id': await signedByForeign({ kid }),
      'a foreign key under a key id of its own': await signedByForeign({ kid: newId() }),
      'a foreign key without a key id': await signedByForeign({}),
      'a key in the header': await signedByForeign({ kid: newId(), jku: 'https://evil.example.com/jwks' }),
      'three parts of nothing': '..',
    };
    for (const [how, wrong] of Object.entries(forged)) expect(await authenticate(wrong), how).toBeNull();
    expect(await authenticate(token)).not.toBeNull();
  });

  test('with an unknown key id makes at most one read of the keys a second', async () => {
    const { authenticate } = connect();
    const foreign = generateKeyPairSync('ed25519').privateKey;
    const token = await new SignJWT({}).setProtectedHeader({ alg: 'EdDSA', kid: newId() }).sign(foreign);
    const flood = async () => {
      for (let use = 0; use < 50; use++) expect(await authenticate(token)).toBeNull();
    };
    expect(await countQueries(flood)).toBe(1);
    clockMs = 1_001;
    expect(await countQueries(flood)).toBe(1);
  });

  test('is refused within a minute after an operator deleted the key that signed it', async () => {
    const { token } = await enrol();
    const { authenticate } = connect();
    expect(await authenticate(token)).not.toBeNull();
    await database.db.deleteFrom('signing_key').execute();
    clockMs = 60_001;
    expect(await authenticate(token)).toBeNull();
    const { token: next } = await enrol();
    clockMs = 120_002;
    expect(await authenticate(next)).not.toBeNull();
  });
});

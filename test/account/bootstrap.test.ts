import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApiKeyService } from '../../src/account/api-key-service.ts';
import { createAuthenticator } from '../../src/account/authenticate.ts';
import { bootstrapFirstOrganization, type FirstStart } from '../../src/account/bootstrap.ts';
import { createIdentity } from '../../src/account/identity.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase } from '../world/database.ts';

const log = pino({ level: 'silent' });
const baseUrl = 'http://127.0.0.1:7070';

let source: { url: string; drop(): Promise<void> };
let database: Database;

beforeEach(async () => {
  source = await createDatabase();
  database = openDatabase({ url: source.url, poolSize: 4, log });
});
afterEach(async () => {
  await database.close();
  await source.drop();
});

function start(persist: (result: FirstStart) => Promise<void>) {
  const { db } = database;
  const secret = randomBytes(32).toString('base64url');
  const identity = createIdentity({ db, secret, baseUrl, log });
  const apiKeys = createApiKeyService({ newId, now: () => new Date(), randomBytes });
  return { identity, made: bootstrapFirstOrganization({ db, identity, apiKeys, persist }) };
}

const countOrganizations = async () =>
  (await database.db.selectFrom('organization').selectAll().execute()).length;

test('the first start makes an organization whose key works and whose admin can sign in', async () => {
  const { identity, made } = start(async () => {});
  const result = await made;
  const { authenticate } = createAuthenticator({ db: database.db, baseUrl, log });
  expect(await authenticate(result?.apiKey ?? '')).toMatchObject({
    organizationId: result?.organizationId,
    kind: 'org_key',
    role: 'admin',
  });
  const answer = await identity.handle(
    new Request(`${baseUrl}/v1/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(result?.admin),
    }),
  );
  expect(answer.status).toBe(200);
  const { role } = await database.db.selectFrom('member').select('role').executeTakeFirstOrThrow();
  expect(role).toBe('admin');
});

test('a later start makes nothing', async () => {
  await start(async () => {}).made;
  const persisted: FirstStart[] = [];
  expect(await start(async (result) => void persisted.push(result)).made).toBeNull();
  expect(persisted).toEqual([]);
});

test('of processes that start at once exactly one makes the organization', async () => {
  const persisted: FirstStart[] = [];
  const starts = [1, 2, 3].map(() => start(async (result) => void persisted.push(result)).made);
  const made = (await Promise.all(starts)).filter((result) => result !== null);
  expect(made).toEqual(persisted);
  expect(made).toHaveLength(1);
  expect(await countOrganizations()).toBe(1);
});

test('nothing is committed when the credentials could not be written down, and the next start makes them', async () => {
  const failing = start(async () => {
    throw new Error('disk full');
  });
  await expect(failing.made).rejects.toThrow('disk full');
  expect(await countOrganizations()).toBe(0);
  expect(await start(async () => {}).made).not.toBeNull();
});

import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../../src/account/caller.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { transact } from '../../src/db/transact.ts';
import { createAppTokens } from '../../src/git-host/app-token.ts';
import { createGitHostService } from '../../src/git-host/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { createRepositoryCredentialService } from '../../src/repository-credential/service.ts';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import { createDatabase } from '../world/database.ts';
import { type GitHostApiStandIn, startGitHostApi } from '../world/git-host-api.ts';

const log = pino({ level: 'silent' });
const APP = 'Iv23abc';
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const url = 'https://github.test.example/team/app';
const sealer = createSealer(parseKeyRing(randomBytes(32).toString('base64')));

let everything: AsyncDisposableStack;
let databases: Database[];
let api: GitHostApiStandIn;
beforeAll(async () => {
  await using starting = new AsyncDisposableStack();
  const made = await createDatabase();
  starting.defer(() => made.drop());
  // Two processes of the service, as the database sees them.
  databases = [1, 2].map(() => openDatabase({ url: made.url, poolSize: 4, log }));
  for (const database of databases) starting.defer(() => database.close());
  everything = starting.move();
});
beforeEach(async () => {
  api = await startGitHostApi({ token: 'unused' });
  api.apps.install(APP, publicKey);
  return () => api.close();
});
afterAll(() => everything?.disposeAsync());

/** The service of one process, with a clock of its own. */
function service(index = 0, now = () => new Date()) {
  const common = { newId, now, sealer, allowPrivateTargets: true };
  const hosts = createGitHostService(common);
  const credentials = createRepositoryCredentialService({
    ...common,
    appTokens: createAppTokens({ ...common, hosts }),
  });
  const { db } = databases[index] as Database;
  const open = (caller: Caller, id: string, at = url) =>
    credentials.open(db, { organizationId: caller.organizationId, id, url: at });
  return { db, hosts, credentials, open };
}

/** An organization whose app stands under a credential. */
async function connect({ key = privateKey, appId = APP, kind = 'github' as const } = {}) {
  const { db, hosts, credentials } = service();
  const organizationId = newId();
  await db
    .insertInto('organization')
    .values({ id: organizationId, name: 'o', slug: organizationId })
    .execute();
  const caller: Caller = { organizationId, kind: 'org_key', keyId: newId(), personId: null, role: 'admin' };
  await hosts.set(db, caller, { host: 'github.test.example', kind, apiUrl: api.githubUrl });
  const body = { kind: 'github_app', name: 'app', app_id: appId, private_key: pem(key, 'pkcs8') } as const;
  const { id } = await transact(db, (tx) => credentials.create(tx, caller, body));
  return { caller, id };
}

const pem = (key: KeyObject, type: 'pkcs1' | 'pkcs8') => String(key.export({ type, format: 'pem' }));
/** So long ago that a token of then may be given up, and not so long that GitHub would notice. */
const earlier = () => new Date(Date.now() - 5 * 60_000);
const lines = () => api.calls.map(({ line }) => line);

describe('the credential of a GitHub App', () => {
  test('is a token of its installation, made with the key and used while it works', async () => {
    const { caller, id } = await connect();
    const { open, db } = service();
    const opened = await open(caller, id);
    expect(opened).toMatchObject({ username: 'x-access-token', secret: 'ghs_standin1' });
    expect(lines()).toEqual([
      'GET /github/repos/team/app/installation',
      'POST /github/app/installations/4711/access_tokens',
    ]);
    for (const at of [url, `${url}.git`])
      expect(await open(caller, id, at)).toMatchObject({ secret: 'ghs_standin1' });
    expect(api.apps.made()).toBe(1);
    const rows = await db.selectFrom('installation_token').selectAll().execute();
    const row = rows.find((one) => one.repository_credential_id === id);
    expect(row).toMatchObject({ scope: 'github.test.example/team', making_until: null });
    expect(row?.token?.includes('ghs_')).toBe(false);
  });

  test('is made by one of several processes that need it at once', async () => {
    const { caller, id } = await connect();
    const opened = await Promise.all(
      Array.from({ length: 20 }, (_, index) => service(index % 2).open(caller, id)),
    );
    expect(new Set(opened.map(({ secret }) => secret))).toEqual(new Set(['ghs_standin1']));
    expect(lines()).toHaveLength(2);
  });

  test('is made anew when less than five minutes are left, by one process as well', async () => {
    const { caller, id } = await connect();
    api.apps.setLife(4 * 60_000);
    await service().open(caller, id);
    api.apps.setLife(3_600_000);
    const opened = await Promise.all([0, 1, 0, 1].map((index) => service(index).open(caller, id)));
    expect(new Set(opened.map(({ secret }) => secret))).toEqual(new Set(['ghs_standin2']));
    const later = () => new Date(Date.now() + 54 * 60_000);
    expect(await service(0, later).open(caller, id)).toMatchObject({ secret: 'ghs_standin2' });
  });

  test('is left to another process when the one that makes it is killed', async () => {
    const { caller, id } = await connect();
    const { db, open } = service();
    const until = new Date(Date.now() - 1);
    const scope = 'github.test.example/team';
    await db
      .insertInto('installation_token')
      .values({ id: newId(), repository_credential_id: id, scope, making_until: until })
      .execute();
    expect(await open(caller, id)).toMatchObject({ secret: 'ghs_standin1' });
  });

  test('is made anew once by those who were refused with it, and not again right after that', async () => {
    const { caller, id } = await connect();
    await service(0, earlier).open(caller, id);
    const opened = await Promise.all([0, 1, 0, 1].map((index) => service(index).open(caller, id)));
    const renewed = await Promise.all(opened.map((each) => each.renew?.()));
    expect(renewed).toEqual(Array(4).fill({ username: 'x-access-token', secret: 'ghs_standin2' }));
    const again = await service().open(caller, id);
    expect([again.secret, await again.renew?.()]).toEqual(['ghs_standin2', null]);
    expect(api.apps.made()).toBe(2);
  });

  test('cannot be renewed when the app is not installed any more, and says so', async () => {
    const { caller, id } = await connect();
    await service(0, earlier).open(caller, id);
    const refused = await service().open(caller, id);
    api.answerNext({ status: 404, body: {} });
    await expect(refused.renew?.()).rejects.toThrow('is not installed for team/app');
    expect(await refused.renew?.()).toMatchObject({ secret: 'ghs_standin2' });
  });

  test('cannot be opened with a wrong key, and works as soon as GitHub knows the key', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const { caller, id } = await connect({ key: other.privateKey });
    const { open } = service();
    await expect(open(caller, id)).rejects.toThrow(
      'GitHub does not know the app Iv23abc by its private key: one of the two is wrong, the key was revoked, or the clock of this service is off.',
    );
    api.apps.install(APP, other.publicKey);
    expect(await open(caller, id)).toMatchObject({ secret: 'ghs_standin1' });
  });

  test.each([
    ['an app that is not installed there', 404, 'is not installed for team/app'],
    ['an installation that is suspended', 403, 'its installation is suspended'],
    ['a host in trouble', 503, 'The git host answered 503.'],
  ])('says what is wrong with %s, and tries again the next time', async (_name, status, sentence) => {
    const { caller, id } = await connect();
    const { open } = service();
    api.answerNext({ status, body: {} });
    await expect(open(caller, id)).rejects.toThrow(sentence);
    expect(await open(caller, id)).toMatchObject({ secret: 'ghs_standin1' });
  });

  test('is not given to a host of another kind, nor to one that is not known', async () => {
    const { caller, id } = await connect();
    const { db, hosts, open } = service();
    await hosts.set(db, caller, { host: 'gitlab.test.example', kind: 'gitlab', apiUrl: api.gitlabUrl });
    await expect(open(caller, id, 'https://gitlab.test.example/team/app')).rejects.toThrow(
      'not a GitHub host',
    );
    await expect(open(caller, id, 'https://unknown.example/team/app')).rejects.toThrow(
      'It is not known where',
    );
    expect(api.calls).toEqual([]);
  });

  test('gives away neither key nor token when it fails', async () => {
    const { caller, id } = await connect();
    const signed = () => api.calls[0]?.authorization?.slice(7) ?? '';
    api.answerNext((response) =>
      response.writeHead(500).end(JSON.stringify({ message: `you sent ${signed()}` })),
    );
    const error = await service().open(caller, id).catch(String);
    expect(error).toContain('The git host answered 500');
    expect(error).not.toContain(signed());
  });
});

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Logger, pino } from 'pino';
import { hashApiKey, makeApiKey, prefixOf } from '../../src/account/api-key-format.ts';
import type { Role } from '../../src/account/caller.ts';
import { createIdentity, type Identity } from '../../src/account/identity.ts';
import { loadIdentitySecret } from '../../src/account/identity-secret.ts';
import { loadConfig } from '../../src/config.ts';
import { errorBody } from '../../src/contract/error.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { type Db, openDatabase } from '../../src/db/database.ts';
import { transact } from '../../src/db/transact.ts';
import { newId } from '../../src/lib/ids.ts';
import { openSealer, startService } from '../../src/main.ts';
import { createDatabase } from './database.ts';
import { type ApiStream, readOpening, streamer } from './event-stream.ts';
import { removeSandboxes } from './remove-sandboxes.ts';

/** The body as JSON or as text; of a stream, the data of its first event in a list. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the parts of a body it is about.
export type ApiAnswer = { status: number; body: any; headers: Headers };
export type ApiCall = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiAnswer>;
export type Organization = { id: string; key: string; call: ApiCall; stream: ApiStream };
export type Person = { id: string; email: string; call: ApiCall; personalKey(): Promise<PersonalKey> };
export type PersonalKey = { id: string; key: string; call: ApiCall };
export type World = Awaited<ReturnType<typeof startWorld>>;

type WorldOptions = {
  environment?: Record<string, string>;
  databaseUrl?: string;
  /** Where the service writes its log; nowhere unless given. */
  log?: Logger;
  /** Parts of the service that the test brings along. */
  replaced?: Parameters<typeof startService>[0]['replaced'];
};

/** A whole service on a database of its own, driven through HTTP. */
export async function startWorld(options: WorldOptions = {}) {
  await using starting = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-world-'));
  starting.defer(async () => {
    await removeSandboxes(folder);
    rmSync(folder, { recursive: true, force: true });
  });
  const database = options.databaseUrl ? null : await createDatabase();
  if (database) starting.defer(() => database.drop());
  const databaseUrl = options.databaseUrl ?? database?.url ?? '';

  const log = options.log ?? pino({ level: 'silent' });
  const config = loadConfig({
    REPLICA_PORT: '0',
    REPLICA_DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    REPLICA_DATABASE_POOL_SIZE: '6',
    REPLICA_RATE_LIMIT_BURST: '1000000',
    // Tests about sandboxes ask for real ones.
    REPLICA_RUNTIME: 'fake',
    REPLICA_AGENT_RUNNER: 'scripted',
    REPLICA_WARM_POOL_SIZE: '0',
    ...options.environment,
  });
  const service = await startService({
    config,
    log,
    replaced: options.replaced,
    inspectAnswer: holdAgainstContract,
  });
  starting.defer(() => service.stop());
  const own = openDatabase({ url: databaseUrl, poolSize: 2, log });
  starting.defer(() => own.close());

  const secret = await loadIdentitySecret(own.db, openSealer(config));
  const identity = createIdentity({ db: own.db, baseUrl: service.baseUrl, secret, log });

  const everything = starting.move();
  return {
    url: service.baseUrl,
    databaseUrl,
    folder,
    db: own.db,
    pool: own.pool,
    identity,
    call: caller(service.baseUrl),
    org: (name = 'Test') => makeOrganization(own.db, service.baseUrl, name),
    person: (org: Organization, role: Role) =>
      makePerson({ db: own.db, identity, baseUrl: service.baseUrl }, org, role),
    drainJobs: () => drainJobs(own.pool),
    close: () => everything.disposeAsync(),
  };
}

/** Sends JSON, checks the shape of every error, and gives back what came. */
export function caller(baseUrl: string, token?: string): ApiCall {
  return async (method, path, body, headers = {}) => {
    const hangUp = new AbortController();
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body:
        body === undefined
          ? null
          : typeof body === 'string' || body instanceof Uint8Array
            ? body
            : JSON.stringify(body),
      signal: hangUp.signal,
    } as RequestInit);
    const parsed = await bodyOf(answer, hangUp);
    if (!answer.ok) errorBody.strict().parse(parsed);
    return { status: answer.status, body: parsed, headers: answer.headers };
  };
}

async function bodyOf(answer: Response, hangUp: AbortController): Promise<unknown> {
  const type = answer.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return readOpening(answer, hangUp);
  return type.startsWith('text/plain') ? answer.text() : answer.json();
}

/** Looks again and again until what is looked for is there, and gives it back. */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 10_000, intervalMs = 20 }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (performance.now() > giveUpAt) throw new Error(`after ${timeoutMs} ms still not: ${condition}`);
    await delay(intervalMs);
  }
}

async function makeOrganization(db: Db, baseUrl: string, name: string): Promise<Organization> {
  const id = newId();
  const key = makeApiKey('org', randomBytes);
  await db.insertInto('organization').values({ id, name, slug: id }).execute();
  await db
    .insertInto('api_key')
    .values({
      id: newId(),
      organization_id: id,
      name: 'test',
      prefix: prefixOf(key),
      hash: hashApiKey(key),
      created_at: new Date(),
    })
    .execute();
  return { id, key, call: caller(baseUrl, key), stream: streamer(baseUrl, key) };
}

type Enrolling = { db: Db; identity: Identity; baseUrl: string };

async function makePerson(
  { db, identity, baseUrl }: Enrolling,
  org: Organization,
  role: Role,
): Promise<Person> {
  const email = `${newId()}@example.com`;
  const id = await transact(db, async (tx) => {
    const enrolment = identity.within(tx);
    const personId = await enrolment.createPerson({ email, name: 'Ada' });
    await enrolment.addMember({ organizationId: org.id, personId, role });
    return personId;
  });
  const call = caller(
    baseUrl,
    await identity.issueAccessToken({ personId: id, organizationId: org.id, email }),
  );
  const personalKey = async (): Promise<PersonalKey> => {
    const { body } = await call('POST', '/v1/user/api-keys', { name: 'test' });
    return { id: body.api_key.id, key: body.key, call: caller(baseUrl, body.key) };
  };
  return { id, email, call, personalKey };
}

/** Waits until every job that is due has ended. */
async function drainJobs(pool: pg.Pool): Promise<void> {
  const due = `select count(*)::int as due from graphile_worker._private_jobs
    where run_at <= now() and attempts < max_attempts`;
  while ((await pool.query<{ due: number }>(due)).rows[0]?.due !== 0) await delay(10);
}

/** Every success the service sends in a test must be what the contract says, no field more or less. */
function holdAgainstContract(operation: Operation, answer: { status: number; body: unknown }): void {
  const schema = operation.answers[answer.status as 200];
  if (!schema)
    throw new Error(
      `${operation.method} ${operation.path} answered ${answer.status}, which it does not declare`,
    );
  schema.parse(JSON.parse(JSON.stringify(answer.body)));
}

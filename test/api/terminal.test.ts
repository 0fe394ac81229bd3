import { createServer, type RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Driver } from '../../src/runtime/driver.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { linkedPair } from '../../src/runtime/fake/port.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

let world: World;
let driver: FakeDriver;
let org: Organization;
let environment_id: string;
let clockMs = 0;
/** What answers in place of the engines, when a test is about a hostile one. */
let hostile: RequestListener | null = null;

beforeAll(async () => {
  world = await startWorld({
    replaced: {
      now: () => new Date(Date.now() + clockMs),
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return { ...driver, connect: (...args) => connect(...args) };
      },
    },
  });
  org = await world.org();
  environment_id = (await org.call('POST', '/v1/environments', { name: 'plain' })).body.environment.id;
});
afterAll(() => world?.close());

const connect: Driver['connect'] = async (key, target, signal) => {
  if (!hostile || target !== 'engine') return driver.connect(key, target, signal);
  const [near, far] = linkedPair();
  createServer(hostile).emit('connection', far);
  return near;
};

async function replica(): Promise<string> {
  const made = await org.call('POST', '/v1/replica', { name: 'one', message: 'hello', environment_id });
  expect(made.body.replica.status).toBe('active');
  return made.body.replica.id;
}

async function rowOf(id: string) {
  return world.db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

const at = (id: string) => `/v1/workspaces/${id}/terminals`;

async function open(id: string, body: object = {}): Promise<string> {
  const made = await org.call('POST', at(id), body);
  expect(made.status).toBe(201);
  return made.body.terminal.id;
}

async function withHostile<T>(listener: RequestListener, work: () => Promise<T>): Promise<T> {
  hostile = listener;
  try {
    return await work();
  } finally {
    hostile = null;
  }
}

describe('a terminal', () => {
  it('is opened in the size that is asked for, listed and closed', async () => {
    const id = await replica();
    const made = await org.call('POST', at(id), { cols: 120, rows: 40 });
    expect(made).toMatchObject({ status: 201, body: { terminal: { cols: 120, rows: 40, exit_code: null } } });
    const usual = await org.call('POST', at(id), {});
    expect(usual.body.terminal).toMatchObject({ cols: 80, rows: 24 });
    const listed = await org.call('GET', at(id));
    expect(listed.body.terminals).toEqual([made.body.terminal, usual.body.terminal]);
    const own = `${at(id)}/${made.body.terminal.id}`;
    expect((await org.call('POST', `${own}/resize`, { cols: 100, rows: 30 })).body).toEqual({
      success: true,
    });
    expect((await org.call('GET', at(id))).body.terminals[0]).toMatchObject({ cols: 100, rows: 30 });
    expect((await org.call('DELETE', own)).body).toEqual({ success: true });
    expect((await org.call('DELETE', own)).status).toBe(404);
    expect((await org.call('GET', at(id))).body.terminals).toHaveLength(1);
  });

  it('is the same when it is asked for twice with one key', async () => {
    const id = await replica();
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const [first, second] = await Promise.all([
      org.call('POST', at(id), {}, headers),
      org.call('POST', at(id), {}, headers),
    ]);
    expect(first.body).toEqual(second.body);
    expect((await org.call('GET', at(id))).body.terminals).toHaveLength(1);
  });

  it('is refused when there are eight', async () => {
    const id = await replica();
    await Promise.all(Array.from({ length: 8 }, () => open(id)));
    const refused = await org.call('POST', at(id), {});
    expect(refused.status).toBe(409);
    expect(refused.headers.get('x-service-error-code')).toBe('limit_reached');
  });

  it('shows what is typed, as text and as bytes', async () => {
    const id = await replica();
    const own = `${at(id)}/${await open(id)}`;
    await org.call('POST', `${own}/input`, { data: 'é' });
    await org.call('POST', `${own}/input`, { data_base64: Buffer.from([0xe2, 0x82]).toString('base64') });
    await using stream = await org.stream('GET', `${own}/stream`);
    expect(await stream.event()).toEqual({ id: '2', event: 'output', data: { data: 'é', offset: 2 } });
    await org.call('POST', `${own}/input`, { data_base64: Buffer.from([0xac, 0x21]).toString('base64') });
    expect(await stream.event()).toEqual({ id: '6', event: 'output', data: { data: '€!', offset: 6 } });
    await using bytes = await org.stream('GET', `${own}/stream?offset=2&encoding=base64`);
    expect((await bytes.event()).data).toEqual({ data_base64: '4oKsIQ==', offset: 6 });
  });

  it('goes on after the event that is named, and ends with how its program did', async () => {
    const id = await replica();
    const own = `${at(id)}/${await open(id, { command: 'true' })}`;
    await using stream = await org.stream('GET', `${own}/stream?offset=2`, {
      headers: { 'last-event-id': '6' },
    });
    expect(await stream.event()).toMatchObject({ id: '11', data: { data: 'true\n' } });
    expect(await stream.event()).toEqual({ id: null, event: 'exit', data: { exit_code: 0 } });
    expect((await stream.next()).done).toBe(true);
    expect((await org.call('GET', at(id))).body.terminals[0].exit_code).toBe(0);
  });

  it('that is closed ends its streams', async () => {
    const id = await replica();
    const own = `${at(id)}/${await open(id)}`;
    await org.call('POST', `${own}/input`, { data: 'a' });
    await using stream = await org.stream('GET', `${own}/stream`);
    await stream.event('output');
    await org.call('DELETE', own);
    expect((await stream.event('exit')).data).toEqual({ exit_code: null });
  });

  it.each([
    ['a size of nothing', '', { cols: 0 }],
    ['a size beyond bounds', '', { rows: 1_001 }],
    ['input of two kinds', '/input', { data: 'a', data_base64: 'YQ==' }],
    ['no input', '/input', {}],
    ['input that is not base64', '/input', { data_base64: '*' }],
    ['too much input', '/input', { data: 'a'.repeat(60_001) }],
    ['half a size', '/resize', { cols: 10 }],
  ])('refuses %s', async (_what, action, body) => {
    const id = await replica();
    const own = action ? `${at(id)}/${await open(id)}${action}` : at(id);
    expect((await org.call('POST', own, body)).status).toBe(400);
  });

  it('is not there for others, nor under an id that never was', async () => {
    const id = await replica();
    const terminal = await open(id);
    const other = await world.org();
    expect((await other.call('GET', at(id))).status).toBe(404);
    expect((await other.call('POST', at(id), {})).status).toBe(404);
    expect((await other.call('GET', `${at(id)}/${terminal}/stream`)).status).toBe(404);
    const absent = `${at(id)}/${crypto.randomUUID()}`;
    expect((await org.call('GET', `${absent}/stream`)).status).toBe(404);
    expect((await org.call('POST', `${absent}/input`, { data: 'a' })).status).toBe(404);
    expect((await org.call('POST', `${absent}/resize`, { cols: 1, rows: 1 })).status).toBe(404);
    expect((await org.call('DELETE', absent)).status).toBe(404);
  });
});

describe('the terminals of a replica that is not active', () => {
  it('are refused with what to do, and a stream says that they are gone', async () => {
    const id = await replica();
    const own = `${at(id)}/${await open(id)}`;
    await org.call('POST', `${own}/input`, { data: 'a' });
    await using stream = await org.stream('GET', `${own}/stream`);
    await stream.event('output');
    await org.call('POST', `/v1/workspaces/${id}/sleep`);
    expect((await stream.event('error')).data).toMatchObject({ code: 'invalid_state' });
    for (const [method, path, body] of [
      ['GET', at(id), undefined],
      ['POST', at(id), {}],
      ['POST', `${own}/input`, { data: 'a' }],
      ['GET', `${own}/stream`, undefined],
      ['DELETE', own, undefined],
    ] as const) {
      const refused = await org.call(method, path, body);
      expect(refused.status).toBe(409);
      expect(refused.body.error).toContain('sleeping; wake it first');
    }
  });
});

describe('typing', () => {
  it('keeps the replica awake', async () => {
    const id = await replica();
    const own = `${at(id)}/${await open(id)}`;
    await until(async () => (await org.call('GET', `/v1/replica/${id}/history`)).body.total >= 2);
    const before = await rowOf(id);
    clockMs += 61_000;
    await org.call('POST', `${own}/input`, { data: 'a' });
    const after = await rowOf(id);
    expect(after.sleep_due_at?.getTime()).toBeGreaterThan((before.sleep_due_at?.getTime() ?? 0) + 60_000);
  });
});

describe('an engine that is hostile', () => {
  it.each<[string, RequestListener]>([
    ['answers with something else', (_request, response) => response.end('{"terminals": "none"}')],
    ['answers with no JSON', (_request, response) => response.end('hello')],
    ['lists without end', (_request, response) => response.end(`{"terminals": [${'{},'.repeat(300)}{}]}`)],
    ['answers megabytes', (_request, response) => response.end(Buffer.alloc(3_000_000, ' '))],
    ['breaks off', (request) => request.destroy()],
    ['fails', (_request, response) => response.writeHead(500).end()],
  ])('and %s makes its replica unavailable, and nothing else', async (_what, listener) => {
    const id = await replica();
    const terminal = await open(id);
    await withHostile(listener, async () => {
      expect((await org.call('GET', at(id))).status).toBe(503);
      expect((await org.call('POST', at(id), {})).status).toBe(503);
    });
    expect((await org.call('GET', at(id))).body.terminals).toMatchObject([{ id: terminal }]);
  });

  it('cannot make a stream claim odd offsets, or go on for ever when it breaks', async () => {
    const id = await replica();
    const own = `${at(id)}/${await open(id)}`;
    await withHostile(
      (request, response) => {
        if (!request.url?.includes('/stream')) return void response.writeHead(404).end();
        response.writeHead(200, { 'x-terminal-offset': '-7' }).end('ab');
      },
      async () => {
        await using stream = await org.stream('GET', `${own}/stream?offset=5`);
        expect((await stream.event()).data).toEqual({ data: 'ab', offset: 7 });
      },
    );
    await withHostile(
      (_request, response) => {
        response.writeHead(200, { 'x-terminal-offset': '9' }).flushHeaders();
        response.destroy();
      },
      async () => {
        await using stream = await org.stream('GET', `${own}/stream?offset=5`);
        expect(await stream.event()).toEqual({
          id: '9',
          event: 'gap',
          data: { skipped_bytes: 4, offset: 9 },
        });
        expect((await stream.event()).data).toMatchObject({ code: 'unavailable' });
      },
    );
  });
});

import { request } from 'node:http';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PreviewStage, startPreviewStage } from './preview-stage.ts';

let stage: PreviewStage;
let id: string;
beforeAll(async () => {
  stage = await startPreviewStage();
  id = await stage.replica();
});
afterAll(() => stage?.close());

const at = (replicaId: string) => `/v1/workspaces/${replicaId}/previews`;
const strict = { prefer: 'handling=strict' };

async function lastPreviews(replicaId: string): Promise<unknown> {
  const row = await stage.world.db
    .selectFrom('replica_event')
    .select('payload')
    .where('replica_id', '=', replicaId)
    .where('type', '=', 'preview.changed')
    .orderBy('seq', 'desc')
    .executeTakeFirst();
  return (row?.payload as { previews: unknown } | undefined)?.previews;
}

describe('registering a preview', () => {
  it('gives its address, and the same again when it is registered again', async () => {
    const made = await stage.register(id, 3000);
    expect(made).toMatchObject({
      status: 201,
      body: { preview: { port: 3000, publicUrl: `${stage.world.url}/p/${id}/3000/`, public: false } },
    });
    const again = await stage.register(id, 3000);
    expect(again).toMatchObject({ status: 200, body: made.body });
    expect((await stage.org.call('GET', at(id))).body).toEqual({ previews: [made.body.preview] });
  });

  it('makes it public when that is asked for, and leaves it so when nothing is said', async () => {
    await stage.register(id, 3001);
    expect((await stage.register(id, 3001, { public: true })).body.preview.public).toBe(true);
    expect((await stage.register(id, 3001)).body.preview.public).toBe(true);
    expect((await stage.register(id, 3001, { public: false })).body.preview.public).toBe(false);
  });

  it('tells who follows the replica, once for each change', async () => {
    const own = await stage.replica();
    await stage.register(own, 5000);
    await stage.register(own, 5000);
    const { body } = await stage.org.call('GET', at(own));
    expect(await lastPreviews(own)).toEqual(body.previews);
    await stage.org.call('DELETE', `${at(own)}/5000`);
    expect(await lastPreviews(own)).toEqual([]);
    const { count } = await stage.world.db
      .selectFrom('replica_event')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .where('replica_id', '=', own)
      .where('type', '=', 'preview.changed')
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBe(2);
  });

  it.each([0, -1, 65_536, 3000.5, '3000', null, 8484])('refuses the port %j', async (port) => {
    expect((await stage.register(id, port as number)).status).toBe(400);
  });

  it('refuses the twenty-first', async () => {
    const own = await stage.replica();
    for (let port = 4000; port < 4020; port++) expect((await stage.register(own, port)).status).toBe(201);
    const refused = await stage.register(own, 4020);
    expect(refused.status).toBe(409);
    expect(refused.headers.get('x-service-error-code')).toBe('limit_reached');
    expect((await stage.register(own, 4000)).status).toBe(200);
  });

  it("is not possible for another organization's replica", async () => {
    const other = await stage.world.org();
    expect((await other.call('POST', at(id), { port: 3000 })).status).toBe(404);
    expect((await other.call('GET', at(id))).status).toBe(404);
    expect((await other.call('DELETE', `${at(id)}/3000`)).status).toBe(404);
    expect((await other.call('POST', `${at(id)}/3000/links`)).status).toBe(404);
  });
});

describe('removing a preview', () => {
  it('answers with its port, and 404 when there is none', async () => {
    await stage.register(id, 3002);
    const removed = await stage.org.call('DELETE', `${at(id)}/3002`);
    expect(removed).toMatchObject({ status: 200, body: { success: true, port: 3002 } });
    expect((await stage.org.call('DELETE', `${at(id)}/3002`)).status).toBe(404);
    expect((await stage.org.call('DELETE', `${at(id)}/nothing`)).status).toBe(404);
  });
});

describe('the previews of a replica that does not run', () => {
  it('are listed and changed while it sleeps, unless the caller is strict', async () => {
    const own = await stage.replica();
    await stage.register(own, 3000);
    await stage.sleep(own);
    expect((await stage.org.call('GET', at(own))).body.previews).toHaveLength(1);
    expect((await stage.org.call('GET', at(own), undefined, strict)).status).toBe(409);
    expect((await stage.org.call('POST', at(own), { port: 3001 }, strict)).status).toBe(409);
    expect((await stage.org.call('DELETE', `${at(own)}/3000`, undefined, strict)).status).toBe(409);
    expect((await stage.register(own, 3001)).status).toBe(201);
    expect((await stage.rowOf(own)).state).toBe('sleeping');
  });

  it('are refused when it has failed', async () => {
    const own = await stage.failed();
    expect((await stage.org.call('GET', at(own))).status).toBe(409);
    expect((await stage.register(own, 3000)).status).toBe(409);
  });
});

describe('a program inside a replica', () => {
  const own = (replicaId: string, secret: string) => ({
    authorization: `Bearer ${secret}`,
    'x-workspace-id': replicaId,
  });

  it('registers and removes previews of its own replica', async () => {
    const headers = own(id, await stage.secretOf(id));
    const made = await stage.world.call('POST', '/v1/previews/6000', undefined, headers);
    expect(made).toMatchObject({ status: 201, body: { preview: { port: 6000, public: false } } });
    const removed = await stage.world.call('DELETE', '/v1/previews/6000', undefined, headers);
    expect(removed).toMatchObject({ status: 200, body: { success: true, port: 6000 } });
  });

  it('does not change who may see a preview', async () => {
    await stage.register(id, 6001, { public: true });
    const headers = own(id, await stage.secretOf(id));
    const again = await stage.world.call('POST', '/v1/previews/6001', undefined, headers);
    expect(again).toMatchObject({ status: 200, body: { preview: { public: true } } });
  });

  it('is refused with another secret, an API key, none, or the id of another replica', async () => {
    const other = await stage.replica();
    const secret = await stage.secretOf(id);
    const call = (headers: Record<string, string>) =>
      stage.world.call('POST', '/v1/previews/6002', undefined, headers);
    expect((await call(own(id, 'rs_engine_wrong'))).status).toBe(401);
    expect((await call(own(id, stage.org.key))).status).toBe(401);
    expect((await call({ 'x-workspace-id': id })).status).toBe(401);
    expect((await call(own(other, secret))).status).toBe(404);
    expect((await call(own(crypto.randomUUID(), secret))).status).toBe(404);
    expect((await call({ authorization: `Bearer ${secret}` })).status).toBe(400);
    expect((await call(own('nothing', secret))).status).toBe(400);
  });

  it('does the same through the gateway, which knows whose sandbox it is', async () => {
    const other = await stage.replica();
    const secret = await stage.secretOf(id);
    expect(await overGateway('POST', '/v1/previews/6003', { secret })).toMatchObject({
      status: 201,
      body: { preview: { port: 6003, publicUrl: `${stage.world.url}/p/${id}/6003/` } },
    });
    expect(await overGateway('POST', '/v1/previews/6003', { secret, id })).toMatchObject({ status: 200 });
    expect(await overGateway('POST', '/v1/previews/6003', { secret, id: other })).toMatchObject({
      status: 404,
    });
    expect(await overGateway('POST', '/v1/previews/6003', { secret: 'wrong' })).toMatchObject({
      status: 401,
    });
    expect(await overGateway('POST', '/v1/previews/8484', { secret })).toMatchObject({ status: 400 });
    expect(await overGateway('POST', '/v1/previews/nothing', { secret })).toMatchObject({ status: 404 });
    expect(await overGateway('GET', '/v1/previews/6003', { secret })).toMatchObject({ status: 404 });
    expect(await overGateway('DELETE', '/v1/previews/6003', { secret })).toEqual({
      status: 200,
      body: { success: true, port: 6003 },
    });
  });
});

/** A request as a program inside makes it. */
async function overGateway(
  method: string,
  target: string,
  given: { secret: string; id?: string },
): Promise<{ status: number; body: unknown }> {
  const asking = request({
    socketPath: path.join(stage.world.folder, 'runtime', 'gateway', 'gateway.sock'),
    method,
    path: target,
    headers: { authorization: `Bearer ${given.secret}`, ...(given.id && { 'x-workspace-id': given.id }) },
  });
  return new Promise((resolve, reject) => {
    asking.once('error', reject);
    asking.once('response', (answer) =>
      json(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject),
    );
    asking.end();
  });
}

import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { place } from '../../src/engine/place.ts';
import { canIsolate, createLiveReplica, type LiveReplica, startLiveWorld } from '../world/live.ts';
import { type Organization, until, type World } from '../world/world.ts';

const PORT = 3000;

/** A program of a user: pages, an echo of bodies, and an echo over WebSocket, with nothing but Node. */
const program = `
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  if (request.method === 'POST') return request.pipe(response);
  response.end(JSON.stringify({ url: request.url, headers: request.headers }));
});
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
  socket.on('data', (frame) => {
    const length = frame[1] & 127;
    const mask = frame.subarray(2, 6);
    const data = frame.subarray(6, 6 + length).map((byte, index) => byte ^ mask[index % 4]);
    if ((frame[0] & 15) === 8) return socket.end(Buffer.from([0x88, 0]));
    socket.write(Buffer.concat([Buffer.from([0x81, length]), data]));
  });
});
server.listen(${PORT}, '127.0.0.1');
`;

describe.skipIf(!canIsolate)('a preview of a real sandbox', () => {
  let world: World;
  let org: Organization;
  let replica: LiveReplica;
  let key: Record<string, string>;
  let url: string;

  beforeAll(async () => {
    world = await startLiveWorld();
    org = await world.org();
    key = { authorization: `Bearer ${org.key}` };
    const made = await org.call('POST', '/v1/environments', { name: 'plain' });
    replica = await createLiveReplica({ world, org }, { environment_id: made.body.environment.id });
    await replica.turn([{ write: { path: 'program.mjs', content: program } }]);
    const registered = await org.call('POST', `/v1/workspaces/${replica.id}/previews`, { port: PORT });
    url = registered.body.preview.publicUrl;
  }, 60_000);
  afterAll(() => world?.close());

  async function start(): Promise<void> {
    await replica.run(`cd ~/workspaces && nohup ${place.node} program.mjs > /tmp/program.log 2>&1 &`);
    await until(async () => (await fetch(url, { headers: key })).status === 200);
  }

  it('says that nothing listens until something does, and then passes requests on', async () => {
    const silent = await fetch(url, { headers: key });
    expect(silent.status).toBe(502);
    expect((await silent.json()) as object).toMatchObject({
      error: expect.stringContaining(`Nothing answers on port ${PORT}`),
    });
    await start();
    const seen = (await (await fetch(`${url}a/b?c=1`, { headers: key })).json()) as {
      url: string;
      headers: Record<string, string>;
    };
    expect(seen.url).toBe('/a/b?c=1');
    expect(seen.headers).toMatchObject({ host: `localhost:${PORT}`, 'x-forwarded-proto': 'http' });
    expect(JSON.stringify(seen.headers)).not.toContain(org.key);
  });

  it('is refused without a key, shown to anyone when public, and absent when it is not registered', async () => {
    await start();
    const at = `/v1/workspaces/${replica.id}/previews`;
    expect((await fetch(url)).status).toBe(401);
    await org.call('POST', at, { port: PORT, public: true });
    expect((await fetch(url)).status).toBe(200);
    await org.call('POST', at, { port: PORT, public: false });
    expect((await fetch(url)).status).toBe(401);
    const unregistered = await fetch(`${world.url}/p/${replica.id}/3001/`, { headers: key });
    expect(unregistered.status).toBe(404);
  });

  it('carries megabytes both ways', async () => {
    await start();
    const sent = 'abcdefghij'.repeat(1_000_000);
    const asking = request(url, { method: 'POST', headers: key });
    const answered = new Promise<string>((resolve, reject) => {
      asking.once('error', reject);
      asking.once('response', (incoming) => text(incoming).then(resolve, reject));
    });
    asking.end(sent);
    expect((await answered) === sent).toBe(true);
  });

  it('carries a WebSocket there and back', async () => {
    await start();
    const socket = new WebSocket(url.replace('http', 'ws'), { headers: key });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    socket.addEventListener('error', () => reject(new Error('the WebSocket has failed')));
    socket.addEventListener('open', () => socket.send('hello from outside'));
    socket.addEventListener('message', ({ data }) => resolve(data));
    expect(await promise).toBe('hello from outside');
    const closed = new Promise((done) => socket.addEventListener('close', done));
    socket.close();
    await closed;
  });

  it('is registered and removed from inside, by what the workspace knows', async () => {
    const call = (method: string, port: number, more = '') =>
      `fetch(process.env.REPLICA_GATEWAY_URL + '/v1/previews/${port}', { method: '${method}', headers: { authorization: 'Bearer ' + process.env.REPLICA_ENGINE_SECRET${more} } }).then(async (answer) => console.log(answer.status, await answer.text()))`;
    const inside = async (source: string) => (await replica.run(`${place.node} -e "${source}"`)).output;
    const made = await inside(call('POST', 3005));
    expect(made).toMatch(/^201 /);
    expect(JSON.parse(made.slice(4))).toMatchObject({
      preview: { port: 3005, publicUrl: `${world.url}/p/${replica.id}/3005/`, public: false },
    });
    expect(await inside(call('POST', 3005, `, 'x-workspace-id': '${crypto.randomUUID()}'`))).toMatch(/^404 /);
    expect(await inside(call('POST', 8484))).toMatch(/^400 /);
    expect(await inside(call('DELETE', 3005))).toMatch(/^200 /);
    const { body } = await org.call('GET', `/v1/workspaces/${replica.id}/previews`);
    expect(body.previews.map(({ port }: { port: number }) => port)).toEqual([PORT]);
  });

  it('wakes the replica that sleeps', async () => {
    await org.call('POST', `/v1/workspaces/${replica.id}/sleep`);
    await replica.reach('sleeping');
    const answer = await fetch(url, { headers: { ...key, accept: 'text/html' } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(await answer.text()).toContain('waking up');
    await replica.reach('active');
    await start();
  });
});

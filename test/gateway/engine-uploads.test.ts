import type { ClientRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { until } from '../world/world.ts';
import { answerOf, type EngineStage, type StagedSandbox, startEngineStage } from './engine-stage.ts';

let stage: EngineStage;
const open: ClientRequest[] = [];
beforeAll(async () => {
  stage = await startEngineStage();
});
afterEach(() => {
  for (const request of open.splice(0)) request.destroy();
});
afterAll(() => stage?.close());

const zeros = '0'.repeat(40);
const commits = { 'x-base-commit': zeros, 'x-head-commit': zeros, 'x-shadow-commit': zeros };
const item = (sandbox: StagedSandbox, name: string, body: Buffer | string) =>
  sandbox.call({ method: 'PUT', path: `/engine/canvas/${name}`, body });

/** An item that is announced and does not come. */
function stall(sandbox: StagedSandbox, bytes: number): ClientRequest {
  const request = sandbox.begin({
    method: 'PUT',
    path: '/engine/canvas/slow.bin',
    headers: { 'content-length': String(bytes) },
  });
  open.push(request);
  return request;
}

/** Lets items of these sizes be under way, which are as many as a sandbox may send at once. */
async function fill(sandbox: StagedSandbox, sizes: readonly number[]): Promise<void> {
  const refused: number[] = [];
  function begin(bytes: number): void {
    const request = stall(sandbox, bytes);
    request.once('response', (answer) => {
      answer.resume();
      open.splice(open.indexOf(request), 1);
      refused.push(bytes);
    });
  }
  for (const bytes of sizes) begin(bytes);
  // Each look takes a place for a moment, and one of them may have found none in it: that one begins again.
  await until(async () => {
    const { status } = await item(sandbox, 'a.md', 'a');
    const again = refused.splice(0);
    for (const bytes of again) begin(bytes);
    return status === 429 && again.length === 0;
  });
}

describe('what sandboxes send at once', () => {
  test('is bounded for each sandbox: more is refused until one has ended', async () => {
    const sandbox = await stage.sandbox();
    const other = await stage.sandbox();
    await fill(sandbox, [10, 10, 10]);
    expect((await sandbox.post({ incarnation: 1, events: [] })).status).toBe(429);
    expect((await item(other, 'a.md', 'a')).status).toBe(204);
    // A look at the state has no body.
    expect((await sandbox.call({ method: 'GET', path: '/engine/state' })).status).toBe(200);
    open[0]?.destroy();
    await until(async () => (await item(sandbox, 'a.md', 'a')).status === 204);
  });

  test('is bounded in all when it is large: one more waits for its turn, and small ones do not', async () => {
    const sandboxes = await Promise.all(Array.from({ length: 5 }, () => stage.sandbox()));
    const [last, ...holders] = sandboxes as [StagedSandbox, ...StagedSandbox[]];
    for (const holder of holders) await fill(holder, [2_000_000, 10, 10]);
    let answered = false;
    const waiting = item(last, 'large.bin', Buffer.alloc(2_000_000)).then((answer) => {
      answered = true;
      return answer;
    });
    expect((await item(last, 'small.md', 'small')).status).toBe(204);
    expect(answered).toBe(false);
    open[0]?.destroy();
    expect((await waiting).status).toBe(204);
  });

  test('counts a body of unknown length as the largest one', async () => {
    const sandbox = await stage.sandbox();
    const chunked = sandbox.begin({ method: 'PUT', path: '/engine/canvas/chunked.md' });
    open.push(chunked);
    chunked.write('a');
    chunked.end('b');
    expect((await answerOf(chunked)).status).toBe(204);
  });
});

describe('uncommitted work', () => {
  test('is kept of the repositories of the replica, and of no other', async () => {
    const repositoryId = newId();
    const sandbox = await stage.sandbox({ repositories: [repositoryId] });
    const put = (id: string, headers: Record<string, string> = {}) =>
      sandbox.call({
        method: 'PUT',
        path: `/engine/shadow/${id}`,
        headers: { ...commits, ...headers },
        body: 'a bundle',
      });
    expect((await put(newId())).status).toBe(404);
    expect((await put(repositoryId, { 'x-branch': 'a%2Fb' })).status).toBe(204);
    const kept = await stage.world.db
      .selectFrom('replica_shadow')
      .select(['repository_id', 'branch'])
      .where('replica_id', '=', sandbox.replicaId)
      .execute();
    expect(kept).toEqual([{ repository_id: repositoryId, branch: 'a/b' }]);
    const read = await sandbox.call({ method: 'GET', path: `/engine/shadow/${repositoryId}` });
    expect([read.status, read.body.toString()]).toEqual([200, 'a bundle']);
    expect((await put(repositoryId, { 'x-branch': '%00' })).status).toBe(400);
    expect((await put(repositoryId, { 'x-branch': '%' })).status).toBe(400);
  });

  test('frees its place when it was read to its end', async () => {
    const repositoryId = newId();
    const sandbox = await stage.sandbox({ repositories: [repositoryId] });
    const path = `/engine/shadow/${repositoryId}`;
    await sandbox.call({ method: 'PUT', path, headers: commits, body: Buffer.alloc(100_000) });
    for (let times = 0; times < 8; times += 1) {
      expect((await sandbox.call({ method: 'GET', path })).body.length).toBe(100_000);
    }
  });
});

describe('a canvas item', () => {
  test.each(['%00', '..', 'a%2Fb', 'x'.repeat(300)])('that is called %s is not there', async (name) => {
    const sandbox = await stage.sandbox();
    expect((await item(sandbox, name, 'a')).status).toBeLessThan(500);
    const removed = await sandbox.call({ method: 'DELETE', path: `/engine/canvas/${name}` });
    expect(removed.status).toBeLessThan(500);
  });

  test('may come as its size alone', async () => {
    const sandbox = await stage.sandbox();
    const put = (size: string, body?: string) =>
      sandbox.call({
        method: 'PUT',
        path: '/engine/canvas/film.mp4',
        headers: { 'x-size-bytes': size },
        ...(body && { body }),
      });
    expect((await put('9000000')).status).toBe(204);
    expect((await put('many')).status).toBe(400);
    expect((await put('9000000', 'a body')).status).toBe(413);
  });
});

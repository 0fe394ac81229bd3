import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, createLiveReplica, type LiveReplica } from '../world/live.ts';
import { type EscapeWorld, obstacle, startEscapeWorld, titled } from './escape-world.ts';
import { type Answer, lie } from './liar.ts';

describe.skipIf(obstacle !== undefined)(titled('what the gateway keeps apart', obstacle), () => {
  let stage: EscapeWorld;
  let host: GitHost;
  let thief: LiveReplica;
  /** Repositories: of the thief's replica, of its organization alone, and of somebody else's replica. */
  const ids = { bound: '', unbound: '', foreign: '' };

  beforeAll(async () => {
    host = await startGitHost();
    stage = await startEscapeWorld({ REPLICA_ALLOW_PRIVATE_TARGETS: 'true' });
    const { world, org, otherOrg } = stage;
    for (const name of Object.keys(ids)) await host.createRepository(name, { 'a.txt': 'a\n' });
    thief = await stage.create({ environment_id: await bindRepository(org, host, 'bound') });
    await createLiveReplica(
      { world, org: otherOrg },
      { environment_id: await bindRepository(otherOrg, host, 'foreign') },
    );
    await org.call('POST', '/v1/repositories', { url: host.url('unbound') });
    const known = await world.db.selectFrom('repository').select(['id', 'name']).execute();
    for (const { id, name } of known) ids[name as keyof typeof ids] = id;
  });
  afterAll(async () => {
    const left = await stage?.close();
    await host?.close();
    expect(left).toEqual([]);
  });
  afterEach(async () => expect(await stage.goesOn()).toBe(true));

  it('takes no path for another one', async () => {
    const asked: [method: string, path: string, status: number][] = [
      ['PUT', '/engine/canvas/%2e%2e%2fx', 409],
      ['PUT', '/engine/canvas/..%2f..%2fsecret.key', 409],
      ['PUT', '/engine/canvas/%2e%2e', 404],
      ['PUT', '/engine/canvas/x/../../../v1/replica', 404],
      ['PUT', '/engine/canvas/%00', 409],
      ['PUT', '/engine/canvas/%ff', 404],
      ['PUT', `/engine/canvas/${'x'.repeat(300)}`, 409],
      ['PUT', '/engine/canvas/', 409],
      ['GET', '/engine/../v1/replica', 404],
      ['GET', '//engine/state', 404],
      ['GET', '/v1/replica', 404],
      ['GET', '/metrics', 404],
      ['GET', '/engine/shadow/..%2f..%2fetc%2fpasswd', 404],
      ['TRACE', '/engine/state', 404],
    ];
    const answers = await lie<number[]>(
      thief,
      `result = []; for (const [method, path] of ${JSON.stringify(asked)}) result.push((await ask(method, path, method === 'PUT' ? 'x' : undefined)).status)`,
    );
    expect(asked.map(([method, path], index) => [method, path, answers[index]])).toEqual(asked);
    const { body } = await stage.org.call('GET', `/v1/replica/${thief.id}/canvas`);
    expect(body.items).toEqual([]);
  });

  it('keeps no work for a repository that is not bound to the replica', async () => {
    const commits = { 'x-base-commit': commit, 'x-head-commit': commit, 'x-shadow-commit': commit };
    const wanted = [ids.unbound, ids.foreign, '00000000-0000-4000-8000-000000000000'];
    const answers = await lie<Answer[]>(
      thief,
      `result = []; for (const id of ${JSON.stringify(wanted)}) for (const method of ['PUT', 'GET'])
         result.push(await ask(method, '/engine/shadow/' + id, method === 'PUT' ? 'x' : undefined, ${JSON.stringify(commits)}))`,
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  });

  it('leads git to no repository but the bound ones', async () => {
    const { output } = await thief.run(
      `cd ~/workspaces/bound; for id in ${ids.unbound} ${ids.foreign} ${ids.foreign}.git; do
         git fetch http://127.0.0.1:8484/git/$id; git push http://127.0.0.1:8484/git/$id HEAD:refs/heads/stolen; done 2>&1 | grep -c "not found"`,
    );
    expect(output).toBe('6\n');
    const { bound, foreign } = ids;
    const paths = [
      `/git/${bound}/../${foreign}/info/refs?service=git-upload-pack`,
      `/git/${bound}%2f..%2f${foreign}/info/refs?service=git-upload-pack`,
      `/git/${bound}/config`,
      `/git/${bound}/objects/info/packs`,
      `/git/${bound}/info/refs?service=git-upload-archive`,
      '/git/../../etc/passwd',
    ];
    const answers = await lie<number[]>(
      thief,
      `result = []; for (const path of ${JSON.stringify(paths)}) result.push((await ask('GET', path)).status)`,
    );
    expect(answers).toEqual([404, 404, 404, 404, 403, 404]);
    expect(host.requests.filter((line) => line.includes('receive-pack'))).toEqual([]);
  });

  it('answers a sandbox no more often than it should, and the others meanwhile', async () => {
    const flood = lie<{ taken: number; refused: number; seconds: number }>(
      thief,
      `const agent = new (require('node:http').Agent)({ keepAlive: true, maxSockets: 64 });
       const began = Date.now(); let taken = 0; let refused = 0;
       const one = () => new Promise((done) => request({ socketPath, agent, path: '/engine/state', headers: { authorization: 'Bearer ' + secret } }, (answer) => {
         if (answer.statusCode === 429) refused += 1; else taken += 1; answer.resume().on('end', done); }).on('error', done).end());
       await Promise.all(Array.from({ length: 64 }, async () => { for (let i = 0; i < 25; i += 1) await one(); }));
       result = { taken, refused, seconds: (Date.now() - began) / 1_000 }`,
    );
    expect(await stage.goesOn()).toBe(true);
    const { taken, refused, seconds } = await flood;
    expect(taken + refused).toBe(64 * 25);
    expect(taken).toBeLessThanOrEqual(1_000 + 200 * (seconds + 1));
  });

  it('has room for others when a sandbox opens connections and says nothing', async () => {
    const idle = thief.run(`ulimit -n 4096; ${holdConnections}`);
    expect(await stage.goesOn()).toBe(true);
    expect((await idle).output).toMatch(/^opened \d+\n$/);
  });

  it('answers others soon while a sandbox sends as much as it can', async () => {
    const ids = JSON.stringify({ turnId: thief.id, chatId: thief.id });
    const send = (count: number) =>
      lie<number>(
        thief,
        `const list = Array.from({ length: 850 }, (_, index) => ({ index }));
         const events = Array.from({ length: 500 }, (_, index) => event(1_000_000 + index, 'turn.delta', { ...${ids}, event: { list } }));
         const body = JSON.stringify({ incarnation: 1, events });
         const began = Date.now();
         await Promise.all(Array.from({ length: ${count} }, () => ask('POST', '/engine/events', body)));
         result = Date.now() - began`,
      );
    const oneMs = await send(1);
    const flood = send(24);
    let slowestMs = 0;
    for (let isOver = false; !isOver; ) {
      const began = performance.now();
      const answered = stage.otherOrg.call('GET', '/v1/replica');
      isOver = await Promise.race([flood.then(() => true), answered.then(() => false)]);
      if (!isOver) slowestMs = Math.max(slowestMs, performance.now() - began);
    }
    // A few are read before the others are refused; all of them would hold everybody up for the sum of their times.
    expect(slowestMs).toBeLessThan(Math.max(1_000, 8 * oneMs));
  });

  it('keeps little of large bodies in memory, however many come at once', async () => {
    const before = process.memoryUsage().rss;
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    const headers = { 'x-base-commit': commit, 'x-head-commit': commit, 'x-shadow-commit': commit };
    await lie(
      thief,
      `const piece = Buffer.alloc(1_048_576); let waiting = 16;
       await new Promise((done) => {
         const leave = () => { waiting -= 1; if (waiting === 0) done(); };
         for (let i = 0; i < 16; i += 1) {
           const headers = { authorization: 'Bearer ' + secret, 'transfer-encoding': 'chunked', ...${JSON.stringify(headers)} };
           const asked = request({ socketPath, method: 'PUT', path: '/engine/shadow/${ids.bound}', headers }, leave).on('error', leave);
           // The last piece never comes.
           let count = 0; const next = () => { count += 1; if (count < 40) asked.write(piece, next); else leave(); }; next();
         }
         setTimeout(done, 5_000);
       });
       result = null`,
    );
    clearInterval(watch);
    expect((most - before) / 1_048_576).toBeLessThan(350);
  });
});

const commit = '0'.repeat(40);

/** More connections than the gateway keeps of strangers, for a second. */
const holdConnections = `perl -e 'use Socket; my @held; for (1..2000) { socket(my $one, PF_UNIX, SOCK_STREAM, 0) or last; connect($one, sockaddr_un("/run/replica/gateway.sock")) or next; push @held, $one } print "opened ", scalar(@held), "\\n"; sleep 1'`;

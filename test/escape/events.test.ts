import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bindRepository, createLiveReplica, type LiveReplica } from '../world/live.ts';
import { until } from '../world/world.ts';
import { type EscapeWorld, obstacle, startEscapeWorld, titled } from './escape-world.ts';
import { type Answer, forge, lie } from './liar.ts';

describe.skipIf(obstacle !== undefined)(titled('a gateway to which a sandbox lies', obstacle), () => {
  let stage: EscapeWorld;
  let host: GitHost;
  let thief: LiveReplica;

  beforeAll(async () => {
    host = await startGitHost();
    stage = await startEscapeWorld({ REPLICA_ALLOW_PRIVATE_TARGETS: 'true' });
    thief = await stage.create();
  });
  afterAll(async () => {
    const left = await stage?.close();
    await host?.close();
    expect(left).toEqual([]);
  });
  afterEach(async () => expect(await stage.goesOn()).toBe(true));

  const batch = (...events: string[]) => `JSON.stringify({ incarnation: 1, events: [${events.join(', ')}] })`;
  const nested = (open: string, close: string) =>
    `'{"incarnation":1,"events":[{"seq":1,"type":"turn.delta","payload":' + '${open}'.repeat(100_000) + '1' + '${close}'.repeat(100_000) + '}]}'`;

  it.each([
    ['nothing', `''`, 400],
    ['text that is no JSON', `'{"incarnation":1'`, 400],
    ['bytes that are no text', 'Buffer.alloc(1_000, 0xff)', 400],
    ['ten megabytes', 'Buffer.alloc(10_000_000, 0x20)', 413],
    ['another shape', `'[]'`, 400],
    ['wrong types', `'{"incarnation":"1","events":{}}'`, 400],
    [
      'names of the language itself',
      `'{"incarnation":1,"__proto__":{"events":[]},"events":{"constructor":1}}'`,
      400,
    ],
    ['a list in a list in a list', nested('[', ']'), 400],
    ['an object in an object in an object', nested('{"a":', '}'), 400],
    ['too many events', batch(`...Array(5_000).fill(event(1, 'x', {}))`), 400],
    [
      'an event that is too large',
      batch(`event(1, 'engine.started', { version: 'x'.repeat(3_500_000) })`),
      400,
    ],
    ['an event of another shape', batch(`event(1, 'turn.message', { turnId: ['x'], chatId: null })`), 400],
    ['numbers below one', batch(`event(-1, 'engine.started', { version: 'x' })`), 400],
    ['numbers without end', `'{"incarnation":1,"events":[{"seq":1e400,"type":"engine.started"}]}'`, 400],
    ['numbers that do not follow each other', batch(`event(1, 'x', {})`, `event(3, 'x', {})`), 400],
    ['a jump', batch(`event(1_000_000, 'engine.started', { version: 'x' })`), 409],
    ['what it has heard already', batch(`event(1, 'engine.started', { version: 'old' })`), 200],
    [
      'the word of another incarnation',
      `'{"incarnation":7,"events":[{"seq":1000000,"type":"engine.started"}]}'`,
      400,
    ],
  ])('counts nothing when it is sent %s', async (_what, body, status) => {
    const { answer, before, after } = await lie<{ answer: Answer; before: number; after: number }>(
      thief,
      `const before = await acked(); const answer = await ask('POST', '/engine/events', ${body}); result = { answer, before, after: await acked() }`,
    );
    // What is too long is not read, and whoever goes on writing finds the connection closed before any answer.
    expect(status === 413 ? [status, 0] : [status]).toContain(answer.status);
    // The engine's own turn is reported meanwhile.
    expect(after - before).toBeLessThan(20);
  });

  it('believes nothing that is said of the turn or the boot of another replica', async () => {
    const { world, otherOrg } = stage;
    await host.createRepository('foreign', { 'a.txt': 'a\n' });
    const environment_id = await bindRepository(otherOrg, host, 'foreign');
    const victim = await createLiveReplica({ world, org: otherOrg }, { environment_id });
    const at = `/v1/replica/${victim.id}`;
    const sent = await otherOrg.call('POST', `${at}/messages`, { message: 'SCRIPT:[{"run":"sleep 600"}]' });
    const message = () =>
      world.db
        .selectFrom('message')
        .selectAll()
        .where('id', '=', sent.body.message_id)
        .executeTakeFirstOrThrow();
    await until(async () => (await message()).started_at);
    const ids = { turnId: (await message()).id, chatId: (await message()).chat_id };
    const { boot_id } = await victim.rowOf();
    const { body } = await otherOrg.call('GET', '/v1/repositories');
    const liar = await stage.create();
    await forge(stage, liar, [
      ['turn.message', { ...ids, type: 'forged', payload: { text: 'forged' } }],
      ['turn.delta', { ...ids, event: { text: 'forged' } }],
      ['turn.finished', { ...ids, outcome: 'failed', error: 'forged' }],
      ['boot.failed', { bootId: boot_id, step: 'forged', message: 'forged' }],
      ['boot.step', { ...stepOf(boot_id), step: 'forged' }],
      ['repositories.changed', { repositories: [{ ...stateOf(body.repositories[0].id), diff: 'forged' }] }],
    ]);
    expect((await message()).state).toBe('running');
    expect((await victim.rowOf()).state).toBe('active');
    const read = await Promise.all(
      ['?include=environment,diffs', '/timeline', '/read'].map((path) =>
        otherOrg.call('GET', `${at}${path}`),
      ),
    );
    expect(read.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(JSON.stringify(read)).not.toContain('forged');
    await otherOrg.call('DELETE', at);
    await stage.remove(liar);
  });

  it('can still be read, put to sleep and removed when it has lied about itself', async () => {
    const liar = await stage.create();
    const { boot_id } = await liar.rowOf();
    const names = Array.from({ length: 500 }, (_each, index) => `../../${index}\n\u0000\ud800<script>`);
    const boot = { bootId: boot_id, filesWritten: names, variablesSet: names, skillsInstalled: names };
    await forge(stage, liar, [
      [
        'boot.finished',
        { ...boot, repositories: [{ ...stateOf(liar.id), branch: '\u0000' }], warnings: ['\u0000'] },
      ],
      [
        'boot.step',
        { ...stepOf(boot_id), step: '\u0000', startedAt: '9999-12-31T23:59:59Z', durationMs: 1e9 },
      ],
      ['engine.started', { version: '\u0000\n' }],
      ['hook.output', { runId: liar.id, text: 'x' }],
      ['of.tomorrow', { anything: [] }],
    ]);
    for (const path of ['?include=environment,diffs', '/timeline', '/canvas', '/hooks/logs'])
      expect((await stage.org.call('GET', `/v1/replica/${liar.id}${path}`)).status).toBeLessThan(500);
    await stage.sleep(liar);
    await stage.remove(liar);
  });
});

/** What an engine would report of a repository. */
function stateOf(id: string) {
  const nothing = { branch: 'main', head: null, baseCommit: null, added: 0, removed: 0, diff: '' };
  return { id, ...nothing, isDiffCut: false, shadowProblem: null };
}

/** What an engine would report of a step of its boot. */
function stepOf(bootId: string | null) {
  return {
    bootId,
    step: 'x',
    startedAt: '2026-01-01T00:00:00Z',
    durationMs: 1,
    outcome: 'done',
    detail: null,
  };
}

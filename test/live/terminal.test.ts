import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStream } from '../world/event-stream.ts';
import { canIsolate, createLiveReplica, startLiveWorld } from '../world/live.ts';
import { type Organization, until, type World } from '../world/world.ts';

describe.skipIf(!canIsolate)('a terminal in a real sandbox', () => {
  let world: World;
  let org: Organization;
  let at: string;
  let replicaId: string;

  beforeAll(async () => {
    world = await startLiveWorld();
    org = await world.org();
    const made = await org.call('POST', '/v1/environments', { name: 'plain' });
    const environment_id: string = made.body.environment.id;
    await org.call('POST', `/v1/environments/${environment_id}/variables`, { key: 'COLOR', value: 'blue' });
    const replica = await createLiveReplica({ world, org }, { environment_id });
    replicaId = replica.id;
    at = `/v1/workspaces/${replica.id}/terminals`;
  }, 60_000);
  afterAll(() => world?.close());

  async function open(body: object = {}) {
    const made = await org.call('POST', at, body);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const own = `${at}/${made.body.terminal.id}`;
    const stream = await org.stream('GET', `${own}/stream`);
    return {
      own,
      stream,
      type: async (data: string) =>
        expect((await org.call('POST', `${own}/input`, { data })).status).toBe(200),
      shows: reader(stream),
      async [Symbol.asyncDispose]() {
        await stream.close();
        await org.call('DELETE', own);
      },
    };
  }

  /** Reads on until the output, from where it was read last, fits. */
  function reader(stream: EventStream): (pattern: RegExp) => Promise<RegExpExecArray> {
    let shown = '';
    return async (pattern) => {
      for (;;) {
        const match = pattern.exec(shown);
        if (match) {
          shown = shown.slice(match.index + match[0].length);
          return match;
        }
        shown += (await stream.event('output')).data.data;
      }
    };
  }

  it('is a real one, of the size that is asked for and that it is changed to', async () => {
    await using terminal = await open({ cols: 100, rows: 30 });
    await terminal.type('tty; stty size; echo "<$COLOR>"\n');
    await terminal.shows(/\/dev\/pts\/\d+/);
    await terminal.shows(/30 100/);
    await terminal.shows(/<blue>/);
    const resized = await org.call('POST', `${terminal.own}/resize`, { cols: 132, rows: 43 });
    expect(resized.status).toBe(200);
    await terminal.type('stty size\n');
    await terminal.shows(/43 132/);
  });

  it('is interrupted by ctrl-C, and says how its shell ended', async () => {
    await using terminal = await open();
    await terminal.type('echo begun; sleep 600; echo not reached\n');
    await terminal.shows(/\rbegun/);
    await terminal.type('\u0003');
    await terminal.shows(/\^C/);
    await terminal.type('echo "after: $?"\n');
    await terminal.shows(/after: 130/);
    await terminal.type('exit 3\n');
    expect((await terminal.stream.event('exit')).data).toEqual({ exit_code: 3 });
    const refused = await org.call('POST', `${terminal.own}/input`, { data: 'x' });
    expect(refused.status).toBe(409);
  });

  it('runs one command, whose output can be read again from any place', async () => {
    await using terminal = await open({ command: 'printf "one €two"; exit 7' });
    const exit = await terminal.stream.event('exit');
    expect(exit.data).toEqual({ exit_code: 7 });
    await using again = await org.stream('GET', `${terminal.own}/stream?offset=4`);
    expect((await again.event('output')).data).toEqual({ data: '€two', offset: 10 });
    await using last = await org.stream('GET', `${terminal.own}/stream`, {
      headers: { 'last-event-id': '7' },
    });
    expect((await last.event('output')).data.data).toBe('two');
  });

  it('that writes without end does not fill anything: what is not read is held back or gone', async () => {
    await using terminal = await open({ command: 'yes' });
    await terminal.shows(/y/);
    await terminal.stream.close();
    await using later = await org.stream('GET', `${terminal.own}/stream?offset=1`);
    const gap = await later.event('gap', 60_000);
    expect(gap.data.skipped_bytes).toBeGreaterThan(0);
    expect((await later.event('output')).data.data).toContain('y');
  });

  it('is one of at most eight, and goes when the replica sleeps', async () => {
    await until(async () => (await org.call('GET', at)).body.terminals.length === 0);
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => org.call('POST', at, { command: 'cat' })),
    );
    expect(opened.map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect((await org.call('POST', at, {})).headers.get('x-service-error-code')).toBe('limit_reached');
    const [first, second] = opened.map(({ body }) => `${at}/${body.terminal.id}`);
    expect((await org.call('DELETE', first ?? '')).status).toBe(200);
    expect((await org.call('DELETE', first ?? '')).status).toBe(404);
    await using stream = await org.stream('GET', `${second}/stream`);
    await org.call('POST', `/v1/workspaces/${replicaId}/sleep`);
    expect((await stream.event('error')).data).toMatchObject({ code: 'invalid_state' });
    expect((await org.call('GET', at)).status).toBe(409);
  });
});

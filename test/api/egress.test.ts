import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createContactLog } from '../../src/egress/contact-log.ts';
import { type EngineStage, type StagedSandbox, startEngineStage } from '../gateway/engine-stage.ts';

let stage: EngineStage;
let environmentId: string;
beforeAll(async () => {
  stage = await startEngineStage({ REPLICA_EGRESS_MODE: 'open' });
  const made = await stage.org.call('POST', '/v1/environments', { name: 'web' });
  environmentId = made.body.environment.id;
});
afterAll(() => stage?.close());

/** The first line of the answer to a CONNECT. */
async function reach({ secret }: StagedSandbox, target: string): Promise<string> {
  const socket = connect(stage.socketPath);
  try {
    socket.write(`CONNECT ${target} HTTP/1.1\r\nProxy-Authorization: Bearer ${secret}\r\n\r\n`);
    const [data] = await once(socket, 'data');
    return String(data).split('\r\n')[0] ?? '';
  } finally {
    socket.destroy();
  }
}

describe('what a sandbox may reach', () => {
  test('is nothing once its environment is gone', async () => {
    const sandbox = await stage.sandbox({ environmentId });
    // Open, but this name belongs to nobody.
    expect(await reach(sandbox, 'absent.invalid:443')).toMatch(/ 502 /);
    const orphan = await stage.sandbox({ environmentId: null });
    expect(await reach(orphan, 'absent.invalid:443')).toMatch(/ 403 /);
  });
});

describe('what a replica has contacted', () => {
  test('is counted on for hosts that are known, also when there is no room for new ones', async () => {
    const { replicaId } = await stage.sandbox({ environmentId });
    const log = createContactLog({ db: stage.world.db, now: () => new Date() });
    const record = (host: string) =>
      log.record(replicaId, { host, port: 443, allowed: true, reason: 'open' });
    for (let n = 0; n < 2_100; n += 1) record(`host-${n}.example`);
    await log.write();
    const kept = () =>
      stage.world.db
        .selectFrom('egress_contact')
        .select(['host', 'times'])
        .where('replica_id', '=', replicaId)
        .execute();
    const before = await kept();
    expect(before).toHaveLength(2_000);
    const [known = { host: '', times: '' }] = before;
    record(known.host);
    record(known.host);
    record('new.example');
    await log.write();
    const after = await kept();
    expect(after).toHaveLength(2_000);
    expect(after.find(({ host }) => host === known.host)?.times).toBe('3');
    expect(after.some(({ host }) => host === 'new.example')).toBe(false);
  });
});

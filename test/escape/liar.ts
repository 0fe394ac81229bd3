import type { LiveReplica } from '../world/live.ts';
import { until } from '../world/world.ts';
import type { EscapeWorld } from './escape-world.ts';
import { node } from './inside.ts';

export type Answer = { status: number; body: string };
export type Report = [type: string, payload: object];

/** Functions of a script that speaks to the gateway itself, with the secret that everybody inside can read. */
const tools = `
  const { request } = require('node:http');
  const variables = require('node:fs').readFileSync('/proc/2/environ', 'utf8').split('\\0');
  const secret = variables.find((line) => line.startsWith('REPLICA_ENGINE_SECRET=')).slice(22);
  const socketPath = '/run/replica/gateway.sock';
  const ask = (method, path, body, headers = {}) => new Promise((done) => {
    const asked = request({ socketPath, method, path, headers: { authorization: 'Bearer ' + secret, ...headers } }, (answer) => {
      let text = '';
      const end = () => done({ status: answer.statusCode, body: text });
      answer.on('data', (chunk) => { text += chunk; }).on('end', end).on('error', end);
    });
    asked.on('error', (error) => done({ status: 0, body: error.code }));
    asked.end(body);
  });
  const event = (seq, type, payload) => ({ seq, at: '2026-01-01T00:00:00Z', type, payload });
  const acked = async () => JSON.parse((await ask('GET', '/engine/state')).body).acked;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
`;

/** Runs a script inside that speaks to the gateway; it puts what it has to say into `result`. */
export async function lie<T>(thief: LiveReplica, script: string): Promise<T> {
  const main = `(async () => { let result; ${script}; process.stdout.write(JSON.stringify(result), () => process.exit()); })();`;
  return JSON.parse((await thief.run(node(`${tools}${main}`))).output);
}

/**
 * Reports in the name of the engine, once the engine itself has nothing to report, and returns when the gateway has
 * taken it. The engine's own next reports are then lost, so nothing can be run in this sandbox any more.
 */
export async function forge(stage: EscapeWorld, liar: LiveReplica, reports: Report[]): Promise<void> {
  const script = `${tools}(async () => {
    let last = -1;
    for (let now = await acked(); now !== last; now = await acked()) { last = now; await pause(1_000); }
    const events = ${JSON.stringify(reports)}.map(([type, payload], index) => event(last + 1 + index, type, payload));
    await ask('POST', '/engine/events', JSON.stringify({ incarnation: 1, events }));
  })();`;
  await liar.run(`(${node(script)}) >/dev/null 2>&1 &`);
  const { sandbox_id } = await liar.rowOf();
  const taken = async () => {
    const row = await stage.world.db
      .selectFrom('sandbox')
      .select('acked_seq')
      .where('id', '=', sandbox_id ?? '')
      .executeTakeFirstOrThrow();
    return Number(row.acked_seq);
  };
  const before = await taken();
  await until(async () => (await taken()) >= before + reports.length, { timeoutMs: 20_000 });
}

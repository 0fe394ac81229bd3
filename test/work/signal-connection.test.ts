import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createSignalConnection } from '../../src/work/signal-connection.ts';
import { startDatabaseProxy } from '../contract/database-proxy.ts';
import { createDatabase } from '../world/database.ts';

const log = pino({ level: 'silent' });
const payloads = Array.from({ length: 20 }, (_, n) => `payload ${n}`);

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('sends one thing after the other, however many are sent at once, in their order', async () => {
  const warnings: string[] = [];
  const notice = ({ name, message }: Error) => {
    if (name === 'DeprecationWarning') warnings.push(message);
  };
  process.on('warning', notice);
  await using opened = await open(database.url);
  const { connection, heard } = opened;
  const sent = await Promise.all(payloads.map((payload) => connection.send([payload])));
  expect(sent).toEqual(payloads.map(() => true));
  await vi.waitFor(() => expect(heard).toEqual(payloads));
  await nextTurn();
  process.off('warning', notice);
  expect(warnings).toEqual([]);
});

test('goes on after something that the server refuses', async () => {
  await using opened = await open(database.url);
  const { connection, heard } = opened;
  const sent = await Promise.all([connection.send(['x'.repeat(9_000)]), connection.send(['short'])]);
  expect(sent).toEqual([false, true]);
  await vi.waitFor(() => expect(heard).toEqual(['short']));
  expect(connection.isUp()).toBe(true);
});

test('says of everything that waits when it is lost that it was not sent', async () => {
  await using proxy = await openProxy();
  await using opened = await open(proxy.url);
  const { connection } = opened;
  const sending = Promise.all(payloads.map((payload) => connection.send([payload])));
  await proxy.cut();
  const sent = await sending;
  expect(sent.lastIndexOf(true)).toBeLessThan(sent.indexOf(false));
  expect(sent.at(-1)).toBe(false);
  await proxy.mend();
  await vi.waitFor(async () => expect(await connection.send(['back'])).toBe(true), { timeout: 5_000 });
});

async function open(url: string) {
  const heard: string[] = [];
  const onHint = (payload: string) => heard.push(payload);
  const connection = createSignalConnection({ url, log, onHint, onConnected: () => {} });
  await connection.start();
  return { connection, heard, [Symbol.asyncDispose]: connection.stop };
}

async function openProxy() {
  const proxy = await startDatabaseProxy(database.url);
  return { ...proxy, [Symbol.asyncDispose]: proxy.close };
}

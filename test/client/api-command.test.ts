import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { operationCommand } from '../../src/cli/api.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { type ScriptedStreams, startScriptedStreams, streamOperations } from '../http/scripted-streams.ts';
import { startTestApp } from '../http/test-app.ts';

let road: ScriptedStreams;
beforeAll(async () => {
  road = await startScriptedStreams();
});
afterAll(() => road.close());

const printed: unknown[] = [];
beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation((line) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  printed.length = 0;
});

const run = (operation: Operation, url: string, flags: string[]) =>
  operationCommand('it', operation).parseAsync(['--server', url, '--auth-key', road.token, ...flags], {
    from: 'user',
  });

test('the events of a stream are printed one on a line, from the one that is asked for', async () => {
  road.scripts.short = async function* ({ lastEventId }) {
    for (let n = lastEventId + 1; n <= 3; n++) yield { id: String(n), event: 'tick', data: { n } };
  };
  await run(streamOperations.watch, road.url, ['--name', 'short', '--last-event-id', '1']);
  expect(printed).toEqual([
    '{"id":"2","event":"tick","data":{"n":2}}',
    '{"id":"3","event":"tick","data":{"n":3}}',
  ]);
});

test('a stream that is refused is an error', async () => {
  const refused = run(streamOperations.watch, road.url, ['--name', 'nothing']);
  await expect(refused).rejects.toMatchObject({ status: 404, code: 'not_found' });
});

test('text is printed as it is, and headers are flags', async () => {
  const operations = {
    getLog: {
      method: 'GET',
      path: '/v1/log',
      tag: 'Account',
      summary: 'Read a log',
      access: 'member',
      query: z.object({ last_line: z.string().optional() }),
      headers: z.object({ prefer: z.string().optional(), 'last-line': z.string().optional() }),
      content: 'text/plain',
      answers: { 200: z.string() },
    },
  } as const satisfies Record<string, Operation>;
  const other = await startTestApp({
    operations,
    handlers: {
      getLog: async ({ headers, query }) => ({ status: 200, body: `${headers.prefer} ${query.last_line}` }),
    },
  });
  try {
    await run(operations.getLog, other.url, ['--prefer', 'handling=strict', '--last-line', '7']);
    expect(printed).toEqual(['handling=strict 7']);
  } finally {
    await other.close();
  }
});

import { randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { startInboundService } from './inbound-service.ts';
import { median } from './samples.ts';
import type { TableRow } from './table.ts';

const ROUNDS = 3;
const SECONDS = 5;
const CONNECTIONS = 32;
const AUTOMATIONS = 64;

const note = `Calls of custom webhooks with a delivery id each, over ${CONNECTIONS} connections to one process on the same machine. An event is answered when it is committed: its id, and the run that waits for a day without events.`;

/** How many events a process takes in a second, when they are for many automations and when they are for one. */
export async function measureInbound(): Promise<TableRow[]> {
  const service = await startInboundService();
  try {
    const paths: string[] = [];
    for (let n = 0; n < AUTOMATIONS; n++) {
      const { automation } = (await service.call('POST', '/v1/automations', {
        name: `bench ${n}`,
        prompt: 'Look at it.',
        environment_id: service.environmentId,
        triggers: [{ type: 'custom' }],
        debounce_seconds: 86_400,
      })) as { automation: { webhook_token: string } };
      paths.push(`/v1/automations/webhook/${automation.webhook_token}`);
    }
    // The first round warms the service and does not count.
    await measureRound(service.baseUrl, paths);
    const rows: TableRow[] = [];
    for (const given of [paths, paths.slice(0, 1)]) {
      const rounds: Load[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(service.baseUrl, given));
      const of = (pick: (load: Load) => number) => median(rounds.map(pick));
      const whom = given.length === 1 ? 'one automation' : `${given.length} automations`;
      rows.push(
        { what: `events in, for ${whom}`, measured: `${of((load) => load.perSecond).toFixed(0)} /s`, note },
        {
          what: `answered within p50 / p99, for ${whom}`,
          measured: `${of((load) => load.p50)} / ${of((load) => load.p99)} ms`,
        },
      );
    }
    return rows;
  } finally {
    await service.close();
  }
}

type Load = { perSecond: number; p50: number; p99: number };

async function measureRound(baseUrl: string, paths: readonly string[]): Promise<Load> {
  const result = await autocannon({
    url: baseUrl,
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: paths.map((path) => ({
      method: 'POST',
      path,
      body: JSON.stringify({ ticket: { number: 7, title: 'It does not start', labels: ['bug', 'urgent'] } }),
      setupRequest: (request) => ({
        ...request,
        headers: { 'content-type': 'application/json', 'x-service-delivery': randomUUID() },
      }),
    })),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx + result.errors} events were not taken`);
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 };
}

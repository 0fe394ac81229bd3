import type pg from 'pg';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { countJobs } from '../work/count-jobs.ts';

export type Metrics = ReturnType<typeof createMetrics>;

type Parts = {
  pool: pg.Pool;
  /** How many webhook deliveries there are, by state. */
  countDeliveries: () => Promise<Record<string, number>>;
};

/** What the process measures about itself, in Prometheus' text format at /metrics. */
export function createMetrics({ pool, countDeliveries }: Parts) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'replica_http_request_duration_seconds',
    help: 'Time to answer a request, by operation of the contract and status.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  // Looking a series up by its labels costs more than counting.
  const observed = new Map<string, Histogram.Internal<string>>();
  new Gauge({
    name: 'replica_database_connections',
    help: 'Connections of the pool, by what they are doing.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'awaited' }, pool.waitingCount);
    },
  });
  new Gauge({
    name: 'replica_jobs',
    help: 'Jobs in the database, of all processes, by state.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, count] of Object.entries(await countJobs(pool))) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'replica_webhook_deliveries',
    help: 'Webhook deliveries in the database, of all processes: those still to be made, and those that have failed for good.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, count] of Object.entries(await countDeliveries())) this.set({ state }, count);
    },
  });
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    observeRequest(request: { operation: string; status: number; seconds: number }): void {
      const key = `${request.operation} ${request.status}`;
      let series = observed.get(key);
      if (!series) {
        series = requests.labels(request.operation, String(request.status));
        observed.set(key, series);
      }
      series.observe(request.seconds);
    },
  };
}

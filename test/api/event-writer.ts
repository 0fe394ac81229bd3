import { pino } from 'pino';
import type { Db } from '../../src/db/database.ts';
import { transact } from '../../src/db/transact.ts';
import { replicaTopic } from '../../src/replica/service.ts';
import { appendEvents } from '../../src/replica/store.ts';
import { createSignals } from '../../src/work/signal.ts';

export type EventWriter = Awaited<ReturnType<typeof openEventWriter>>;

/** Writes events of replicas as another process of the service does: into the database, with a hint to look there. */
export async function openEventWriter({ db, databaseUrl }: { db: Db; databaseUrl: string }) {
  const signals = createSignals({ url: databaseUrl, log: pino({ level: 'silent' }) });
  await signals.start();
  return {
    async write(replicaId: string, ...events: { type: string; payload: object }[]): Promise<void> {
      await transact(db, (tx) => appendEvents(tx, { replicaId, at: new Date(), events }));
      signals.touch(replicaTopic(replicaId));
    },
    touch: signals.touch,
    close: () => signals.stop(),
  };
}

/** An event of a type that is made up, and can be told from others. */
export const numbered = (n: number, payload: object = {}) => ({
  type: 'test.counted',
  payload: { n, ...payload },
});

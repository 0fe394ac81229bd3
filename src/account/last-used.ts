import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { updateLastUsed } from './credential-store.ts';

type Parts = { db: Db; now: () => Date; intervalMs: number; log: Logger };

/** Remembers when keys were used and writes it down now and then, never per request. */
export function createLastUsed({ db, now, intervalMs, log }: Parts) {
  let usedAt = new Map<string, Date>();
  let timer: NodeJS.Timeout | null = null;

  async function write(): Promise<void> {
    if (usedAt.size === 0) return;
    const uses = [...usedAt].map(([keyId, at]) => ({ keyId, at }));
    usedAt = new Map();
    try {
      await updateLastUsed(db, uses);
    } catch (error) {
      log.warn({ err: error, keys: uses.length }, 'last_used.failed');
      for (const { keyId, at } of uses) if (!usedAt.has(keyId)) usedAt.set(keyId, at);
    }
  }

  return {
    write,
    note(keyId: string): void {
      usedAt.set(keyId, now());
    },
    start(): void {
      timer ??= setInterval(() => void write(), intervalMs).unref();
    },
    async stop(): Promise<void> {
      if (timer) clearInterval(timer);
      timer = null;
      await write();
    },
  };
}

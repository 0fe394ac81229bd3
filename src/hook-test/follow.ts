import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { HookRunService } from '../hook-run/service.ts';
import type { Signals } from '../work/signal.ts';
import { hasEnded } from './has-ended.ts';
import { type HookTestRow, type HookTestService, LEASE_MS, testTopic } from './service.ts';

type Parts = {
  tests: HookTestService;
  hookRuns: Pick<HookRunService, 'outputAfter' | 'find'>;
  signals: Pick<Signals, 'follow'>;
};

export type TestNews =
  | { kind: 'status'; status: HookTestRow['status'] }
  | { kind: 'output'; text: string }
  | { kind: 'ended'; test: HookTestRow };

export type FollowTest = ReturnType<typeof createFollowTest>;

const PIECES = 50;

/**
 * Tells what happens in a test until it ends. Following is what keeps the test alive: whoever stops ends it, and when
 * this process dies the lease runs out.
 */
export function createFollowTest({ tests, hookRuns, signals }: Parts) {
  return async function* followTest(db: Db, id: string, signal: AbortSignal): AsyncGenerator<TestNews> {
    using news = signals.follow(testTopic(id));
    let status = '';
    let seen = 0;
    let isOver = false;
    try {
      for (;;) {
        await tests.renew(db, id);
        const test = await tests.find(db, id);
        if (!test) throw new Error('a hook test is gone while it is followed');
        if (test.status !== status) {
          status = test.status;
          yield { kind: 'status', status };
        }
        for (;;) {
          const pieces = test.hook_run_id
            ? await hookRuns.outputAfter(db, { runId: test.hook_run_id, after: seen, limit: PIECES })
            : [];
          for (const piece of pieces) {
            seen = piece.seq;
            yield { kind: 'output', text: piece.text };
          }
          if (pieces.length < PIECES) break;
        }
        if (hasEnded(test)) {
          isOver = true;
          yield { kind: 'ended', test };
          return;
        }
        await news.next(signal, LEASE_MS / 3);
        signal.throwIfAborted();
      }
    } finally {
      if (!isOver) {
        await transact(db, (tx) => tests.change(tx, id, { status: 'cancelled', error: 'The caller left.' }));
      }
    }
  };
}

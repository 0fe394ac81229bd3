import type { Db } from '../db/database.ts';
import { type OutputPlace, readWorkspaceOutput } from '../hook-run/logs.ts';
import type { Signals } from '../work/signal.ts';
import { statusOf, type WorkspaceStatus } from './present-workspace.ts';
import { selectWorkspace } from './workspace-store.ts';
import { type WorkspaceRow, workspaceTopic } from './workspaces.ts';

export type WorkspaceNews =
  | { kind: 'status'; status: WorkspaceStatus }
  | { kind: 'output'; text: string }
  | { kind: 'ended'; status: WorkspaceStatus; message: string | null };

export type FollowWorkspace = ReturnType<typeof createFollowWorkspace>;

const LOOK_EVERY_MS = 5_000;

/** Whether nothing more is done for a workspace in this status. */
const isEnd: Record<WorkspaceStatus, boolean> = {
  warming: false,
  snapshotting: false,
  ready: true,
  assigned: true,
  expired: true,
  failed: true,
};

/** Tells what happens to a warm workspace until it is ready or has come to nothing. */
export function createFollowWorkspace({ signals }: { signals: Pick<Signals, 'follow'> }) {
  return async function* followWorkspace(
    db: Db,
    id: string,
    signal: AbortSignal,
  ): AsyncGenerator<WorkspaceNews> {
    using news = signals.follow(workspaceTopic(id));
    const output = createOutputReader(db, id);
    let seen: WorkspaceStatus | null = null;
    while (!signal.aborted) {
      const row: WorkspaceRow | undefined = await selectWorkspace(db, id);
      const status = row ? statusOf(row) : 'expired';
      if (seen === null) yield { kind: 'status', status };
      // What was written before a change is told before it; who comes when warming is over is told no output.
      if (seen === 'warming' || status === 'warming') yield* output.next();
      if (seen !== null && seen !== status) yield { kind: 'status', status };
      if (isEnd[status]) {
        yield { kind: 'ended', status, message: row ? row.error_message : 'The workspace is gone.' };
        return;
      }
      seen = status;
      await news.next(signal, LOOK_EVERY_MS);
    }
  };
}

function createOutputReader(db: Db, warmWorkspaceId: string) {
  let after: OutputPlace = { position: -1, seq: 0 };
  return {
    /** Everything since the last call. */
    async *next(): AsyncGenerator<WorkspaceNews> {
      for (;;) {
        const pieces = await readWorkspaceOutput(db, { warmWorkspaceId, after });
        for (const { text, ...place } of pieces) {
          after = place;
          yield { kind: 'output', text };
        }
        if (pieces.length === 0) return;
      }
    },
  };
}

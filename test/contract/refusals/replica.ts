import { randomUUID } from 'node:crypto';
import type { canvasOperations } from '../../../src/contract/canvas.ts';
import type { eventOperations } from '../../../src/contract/event.ts';
import type { replicaOperations } from '../../../src/contract/replica.ts';
import { ofFailedReplica } from '../failed-replica.ts';
import { again, type Refusals } from '../refusal.ts';

type Replicas = typeof replicaOperations & typeof eventOperations & typeof canvasOperations;

export const replicaRefusals: Refusals<Replicas> = {
  createReplica: { not_found: (f) => again(f, 'createReplica', { environment_id: randomUUID() }) },
  wakeReplica: { invalid_state: ofFailedReplica('wakeReplica') },
  sleepReplica: { invalid_state: ofFailedReplica('sleepReplica') },
  archiveReplica: { invalid_state: ofFailedReplica('archiveReplica') },
  streamReplicaEvents: { invalid_state: ofFailedReplica('streamReplicaEvents') },
  listCanvasItems: { invalid_state: ofFailedReplica('listCanvasItems') },
  getCanvasItem: { invalid_state: ofFailedReplica('getCanvasItem') },
};

import type { canvasOperations } from '../../../src/contract/canvas.ts';
import type { eventOperations } from '../../../src/contract/event.ts';
import type { replicaOperations } from '../../../src/contract/replica.ts';
import type { ReplicaState } from '../../../src/replica/lifecycle.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';
import { placeReplica } from '../replica-fixture.ts';

type Replicas = typeof replicaOperations & typeof eventOperations & typeof canvasOperations;

const replicaOf = (f: Fixture) => ({ params: { id: f.replicaId } });

/** A replica whose work is done by the workers of the service; it has no sandbox yet. */
const hosted = async (f: Fixture, state: ReplicaState) => {
  const placed = { organizationId: f.org.id, state, hostId: f.stage.hostId };
  return { params: { id: await placeReplica(f.stage, placed) } };
};

export const replicaExamples: Examples<Replicas> = {
  createReplica: (f) => ({
    headers: { 'x-service-api-version': '2026-05-17' },
    body: {
      name: f.stage.unique('replica'),
      message: 'Say hello.',
      environment_id: f.plainEnvironmentId,
      coding_agent: 'claude',
      model: 'some-model',
      images: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } }],
      plan_mode: true,
      thinking_level: 'low',
      lifecycle_policy: 'default',
      config: {
        capabilities: { pr_followups: true },
        preferences: { keep_open_on_pr_merge: true },
        note: 'kept as it is',
      },
      webhook_url: { url: f.stage.receiverUrl, secret: 'secret' },
      size: 'small',
    },
  }),
  listReplicas: () => ({ query: { page: 1, limit: 100, source: 'api', status: 'preparing' } }),
  getReplica: (f) => ({ ...replicaOf(f), query: { include: 'environment,diffs', wake: 'true' } }),
  deleteReplica: (f) => hosted(f, 'active'),
  wakeReplica: (f) => hosted(f, 'sleeping'),
  sleepReplica: (f) => hosted(f, 'active'),
  archiveReplica: (f) => hosted(f, 'active'),
  getReplicaTimeline: replicaOf,

  streamReplicaEvents: (f) => ({ ...replicaOf(f), query: { snapshot: 'true' } }),

  listCanvasItems: replicaOf,
  getCanvasItem: (f) => ({ params: { id: f.replicaId, filename: 'plan.md' } }),
};

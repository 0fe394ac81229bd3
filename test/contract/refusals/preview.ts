import type { OperationName } from '../../../src/contract/operations.ts';
import type { previewOperations } from '../../../src/contract/preview.ts';
import { caller } from '../../world/world.ts';
import { exampleOf } from '../examples.ts';
import { insertFailed, ofFailedReplica } from '../failed-replica.ts';
import type { Fixture } from '../fixture.ts';
import { again, type Refusal, type Refusals, type RefusedCall } from '../refusal.ts';
import { insertEngine, insertPreviews, placeReplica } from '../replica-fixture.ts';

const asMany = Array.from({ length: 20 }, (_, index) => 4000 + index);

/** The example as a program inside another replica would call it. */
async function inside(f: Fixture, name: OperationName, replicaId: string): Promise<RefusedCall> {
  const { url } = f.stage.world;
  const secret = await insertEngine(f.stage, { organizationId: f.org.id, replicaId });
  const call = await exampleOf(name, f, 'engine');
  return { ...call, headers: { 'x-workspace-id': replicaId }, by: caller(url, secret) };
}

const insideFailed =
  (name: OperationName): Refusal =>
  async (f) =>
    inside(f, name, await insertFailed(f));

const withoutSecret =
  (name: OperationName): Refusal =>
  async (f) => ({ ...(await exampleOf(name, f, 'engine')), by: f.callers.nobody });

async function fullReplica(f: Fixture): Promise<string> {
  const id = await placeReplica(f.stage, { organizationId: f.org.id, state: 'active' });
  await insertPreviews(f.stage.world.db, id, asMany);
  return id;
}

export const previewRefusals: Refusals<typeof previewOperations> = {
  listPreviews: { invalid_state: ofFailedReplica('listPreviews') },
  createPreview: {
    invalid_state: ofFailedReplica('createPreview'),
    limit_reached: async (f) => ({
      ...(await again(f, 'createPreview', {})),
      params: { id: await fullReplica(f) },
    }),
  },
  createPreviewLink: { invalid_state: ofFailedReplica('createPreviewLink') },
  deletePreview: { invalid_state: ofFailedReplica('deletePreview') },
  createOwnPreview: {
    unauthenticated: withoutSecret('createOwnPreview'),
    invalid_state: insideFailed('createOwnPreview'),
    limit_reached: async (f) => inside(f, 'createOwnPreview', await fullReplica(f)),
  },
  deleteOwnPreview: {
    unauthenticated: withoutSecret('deleteOwnPreview'),
    invalid_state: insideFailed('deleteOwnPreview'),
  },
};

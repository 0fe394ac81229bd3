import type { previewOperations } from '../../../src/contract/preview.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';
import { insertPreviews, placeReplica, previewPort } from '../replica-fixture.ts';

const port = String(previewPort);
const inside = (f: Fixture) => ({ params: { port }, headers: { 'x-workspace-id': f.insideId } });

async function ownReplica(f: Fixture, ports: number[] = []): Promise<string> {
  const id = await placeReplica(f.stage, { organizationId: f.org.id, state: 'active' });
  if (ports.length > 0) await insertPreviews(f.stage.world.db, id, ports);
  return id;
}

export const previewExamples: Examples<typeof previewOperations> = {
  listPreviews: (f) => ({ params: { id: f.replicaId } }),
  createPreview: async (f) => ({
    params: { id: await ownReplica(f) },
    body: { port: previewPort, public: true },
  }),
  createPreviewLink: (f) => ({ params: { id: f.replicaId, port } }),
  deletePreview: async (f) => ({ params: { id: await ownReplica(f, [previewPort]), port } }),
  createOwnPreview: inside,
  deleteOwnPreview: async (f) => {
    await insertPreviews(f.stage.world.db, f.insideId, [previewPort]);
    return inside(f);
  },
};

import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { GATEWAY_PORT } from '../engine/place.ts';
import { requireServed } from '../replica/admission.ts';
import { publicStatus } from '../replica/lifecycle.ts';
import type { ReplicaEvent, ReplicaRow, ReplicaService } from '../replica/service.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import * as store from './store.ts';

export type { PreviewRow } from './store.ts';
export type PreviewService = ReturnType<typeof createPreviewService>;

/** A preview as callers see it. */
export type ShownPreview = { port: number; publicUrl: string; createdAt: string; public: boolean };
export type Registered = { preview: ShownPreview; isNew: boolean };

type Parts = {
  replicas: Pick<ReplicaService, 'find' | 'hold' | 'lock' | 'emit'>;
  urlOf: (preview: { replicaId: string; port: number }) => string;
  now: () => Date;
};
type Asked = { id: string; isStrict: boolean };
type Inside = { identity: SandboxIdentity; replicaId: string | null; port: number };

const MAX_PREVIEWS = 20;

/** The ports of replicas that are reachable from outside, registered by callers and from inside. */
export function createPreviewService({ replicas, urlOf, now }: Parts) {
  async function list(db: Db, caller: Caller, { id, isStrict }: Asked): Promise<ShownPreview[]> {
    const replica = await replicas.find(db, caller, id);
    requireServed(replica.state, { isStrict });
    return overview(db, replica.id);
  }

  async function register(
    db: Db,
    caller: Caller,
    asked: Asked & { port: number; isPublic: boolean | undefined },
  ): Promise<Registered> {
    const replica = await replicas.hold(db, caller, asked.id);
    requireServed(replica.state, asked);
    return put(db, replica, asked);
  }

  /** The preview of a port, for whoever may make a link to it. */
  async function find(
    db: Db,
    caller: Caller,
    { id, port, isStrict }: Asked & { port: number },
  ): Promise<store.PreviewRow> {
    const replica = await replicas.find(db, caller, id);
    requireServed(replica.state, { isStrict });
    const row = await store.selectPreview(db, { replicaId: replica.id, port });
    if (!row) throw notFound('Preview');
    return row;
  }

  async function remove(db: Db, caller: Caller, asked: Asked & { port: number }): Promise<void> {
    const replica = await replicas.hold(db, caller, asked.id);
    requireServed(replica.state, asked);
    await drop(db, replica, asked.port);
  }

  async function registerFromInside(db: Db, inside: Inside): Promise<Registered> {
    return put(db, await holdFromInside(db, inside), { port: inside.port, isPublic: undefined });
  }

  async function removeFromInside(db: Db, inside: Inside): Promise<void> {
    await drop(db, await holdFromInside(db, inside), inside.port);
  }

  /** The replica whose sandbox speaks; another one that it names is not there for it. */
  async function holdFromInside(db: Db, { identity, replicaId }: Inside): Promise<ReplicaRow> {
    const own = identity.replicaId;
    const replica = own && (replicaId ?? own) === own ? await replicas.lock(db, own) : undefined;
    if (!replica || publicStatus[replica.state] === null) throw notFound('Replica');
    requireServed(replica.state, { isStrict: false });
    return replica;
  }

  async function put(
    db: Db,
    replica: ReplicaRow,
    { port, isPublic }: { port: number; isPublic: boolean | undefined },
  ): Promise<Registered> {
    if (port === GATEWAY_PORT) {
      const sentence = `Port ${port} of a replica is the way to the service and cannot be a preview; use another one.`;
      throw new AppError('invalid_request', sentence);
    }
    const key = { replicaId: replica.id, port };
    const rows = await store.selectPreviews(db, replica.id);
    const known = rows.find((row) => row.port === port);
    if (known && known.is_public === (isPublic ?? known.is_public)) {
      return { preview: present(known), isNew: false };
    }
    if (!known && rows.length >= MAX_PREVIEWS) {
      const sentence = `The replica has ${MAX_PREVIEWS} previews, which is as many as it may; remove one first.`;
      throw new AppError('limit_reached', sentence);
    }
    const stored = known
      ? await store.updatePublic(db, key, isPublic ?? false)
      : await store.insertPreview(db, {
          replica_id: replica.id,
          port,
          is_public: isPublic ?? false,
          created_at: now(),
        });
    await tell(db, replica.id);
    return { preview: present(stored), isNew: !known };
  }

  async function drop(db: Db, replica: ReplicaRow, port: number): Promise<void> {
    if (!(await store.deletePreview(db, { replicaId: replica.id, port }))) throw notFound('Preview');
    await tell(db, replica.id);
  }

  async function tell(db: Db, replicaId: string): Promise<void> {
    await replicas.emit(db, replicaId, [await changed(db, replicaId)]);
  }

  async function changed(db: Db, replicaId: string): Promise<ReplicaEvent> {
    return { type: 'preview.changed', payload: { previews: await overview(db, replicaId) } };
  }

  async function overview(db: Db, replicaId: string): Promise<ShownPreview[]> {
    return (await store.selectPreviews(db, replicaId)).map(present);
  }

  function present(row: store.PreviewRow): ShownPreview {
    return {
      port: row.port,
      publicUrl: urlOf({ replicaId: row.replica_id, port: row.port }),
      createdAt: row.created_at.toISOString(),
      public: row.is_public,
    };
  }

  return {
    list,
    register,
    find,
    remove,
    registerFromInside,
    removeFromInside,
    /** The preview that a request means, whoever makes it. */
    read: store.selectPreview,
    /** The previews as the event that would tell of them. */
    snapshot: async (db: Db, { id }: ReplicaRow) => [await changed(db, id)],
  };
}

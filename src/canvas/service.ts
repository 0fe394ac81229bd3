import type { Db } from '../db/database.ts';
import { engineLimits } from '../engine/limits.ts';
import * as store from './store.ts';

export type CanvasService = ReturnType<typeof createCanvasService>;

const MAX_NAME_BYTES = 255;
/** What is kept of all items of one replica. */
const MAX_KEPT_BYTES = 100_000_000;

export function createCanvasService({ now }: { now: () => Date }) {
  /**
   * Keeps an item that an engine sent; `content` is null when it is too large to be kept, and left out where all items
   * together are. False when it is refused.
   */
  async function keep(
    db: Db,
    item: { replicaId: string; filename: string; sizeBytes: number; content: Buffer | null },
  ): Promise<boolean> {
    if (!isItemName(item.filename)) return false;
    const others = await store.measureOthers(db, item);
    if (others.count >= engineLimits.canvasItems) return false;
    const fits = others.bytes + (item.content?.length ?? 0) <= MAX_KEPT_BYTES;
    await store.upsertItem(db, {
      replica_id: item.replicaId,
      filename: item.filename,
      size_bytes: item.sizeBytes,
      content: fits ? item.content : null,
      updated_at: now(),
    });
    return true;
  }

  async function forget(db: Db, key: { replicaId: string; filename: string }): Promise<void> {
    if (isItemName(key.filename)) await store.deleteItem(db, key);
  }

  return { keep, forget, list: store.selectItems, read: store.selectItem };
}

/** Only names of files directly in the folder, as a file system can have them. */
export function isItemName(name: string): boolean {
  return (
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    !/[/\0]/.test(name) &&
    name.isWellFormed() &&
    Buffer.byteLength(name) <= MAX_NAME_BYTES
  );
}

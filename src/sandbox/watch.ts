import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import type { Driver } from '../runtime/driver.ts';
import type { SandboxRow, SandboxService } from './service.ts';
import { isKnownHost, selectLayerIds, selectLingering, selectUnowned, touchHost } from './watch-store.ts';

type Parts = {
  db: Db;
  driver: Driver;
  sandboxes: SandboxService;
  /** Told of each sandbox that should run and does not; by what it is for. */
  onStopped: Record<'replica' | 'warm_pool' | 'hook_test', (row: SandboxRow) => Promise<void>>;
  log: Logger;
  now: () => Date;
};

/** A sandbox that was just made may not be written into its owner yet; one that is let go takes its time. */
const SETTLE_MS = 60_000;
/** Longer than a probe takes on the slowest machine. */
const PROBE_MS = 5 * 60_000;

/**
 * Holds what the driver has against what the database wants: a sandbox that stopped by itself is reported to its owner,
 * one without a row is removed, a row without an owner is let go. One that gives trouble does not keep the others waiting.
 */
export function createSandboxWatch({ db, driver, sandboxes, onStopped, log, now }: Parts) {
  const { hostId } = sandboxes;
  const probeSeenAt = new Map<string, number>();
  /** Sandboxes found at the first start on a database that does not know this host: they may be another database's. */
  let foreign: ReadonlySet<string> | null = null;

  async function look(): Promise<void> {
    // What the driver has is read first: each of it had its row before it was made.
    const held = await driver.list();
    const keys = held.sandboxes.map(({ key }) => key).filter(isId);
    const probes = overdueProbes([...held.sandboxes.map(({ key }) => key), ...held.layers]);
    await each(probes, async (name) => {
      await driver.destroy(name);
      await driver.removeLayer(name);
    });
    foreign ??= await findForeign(keys);
    const rows = await sandboxes.ofHost(db);
    const running = new Set(held.sandboxes.filter(({ state }) => state === 'running').map(({ key }) => key));
    const stopped = rows.filter((row) => row.started_at && !row.removing_at && !running.has(row.id));
    await each(stopped, reportStopped);
    const wanted = new Set(rows.map((row) => row.id));
    await each(
      keys.filter((key) => !wanted.has(key) && !foreign?.has(key)),
      removeOrphan,
    );
    if (foreign.size === 0) await removeLayers(held.layers.filter(isId));
    const before = new Date(now().getTime() - SETTLE_MS);
    const loose = [
      ...(await selectUnowned(db, { hostId, before })),
      ...(await selectLingering(db, { hostId, before })),
    ];
    await each(loose, ({ id }) => sandboxes.release(db, id));
  }

  /** What has no id for a name, the driver has made for itself to see what it can do, and leaves only when it is killed. */
  function overdueProbes(names: readonly string[]): string[] {
    const probes = [...new Set(names.filter((name) => !isId(name)))];
    for (const name of probeSeenAt.keys()) if (!probes.includes(name)) probeSeenAt.delete(name);
    const at = now().getTime();
    for (const name of probes) if (!probeSeenAt.has(name)) probeSeenAt.set(name, at);
    return probes.filter((name) => at - (probeSeenAt.get(name) ?? at) > PROBE_MS);
  }

  async function each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    for (const item of items) {
      await act(item).catch((error: unknown) => log.warn({ err: error }, 'sandbox.watch_failed'));
    }
  }

  async function reportStopped(row: SandboxRow): Promise<void> {
    // It may have been started after the list was made.
    if ((await driver.observe(row.id)) === 'running') return;
    await onStopped[row.purpose as keyof typeof onStopped](row);
  }

  async function findForeign(keys: string[]): Promise<ReadonlySet<string>> {
    if (keys.length === 0 || (await isKnownHost(db, hostId))) return new Set();
    log.warn({ hostId, sandboxes: keys.length }, 'sandbox.other_database');
    return new Set(keys);
  }

  async function removeOrphan(key: string): Promise<void> {
    if (await sandboxes.find(db, key)) return;
    log.warn({ sandboxId: key }, 'sandbox.orphan_removed');
    await sandboxes.remove(db, key);
  }

  async function removeLayers(layers: readonly string[]): Promise<void> {
    if (layers.length === 0) return;
    const wanted = new Set(await selectLayerIds(db, hostId));
    await each(
      layers.filter((layer) => !wanted.has(layer)),
      (layer) => driver.removeLayer(layer),
    );
  }

  /** Says that this host is there; in a loop of its own, so that trouble with sandboxes does not make it look gone. */
  function beat(): Promise<void> {
    return touchHost(db, hostId);
  }

  return { look, beat };
}

function isId(key: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);
}

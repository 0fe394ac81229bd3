import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { GitRemote } from '../git/remote.ts';
import { type GitUrl, GitUrlError, parseGitUrl } from '../git/url.ts';
import type { RepositoryContent, RepositoryService } from '../repository/service.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import { enqueue } from '../work/enqueue.ts';
import type { Head, RegistryScan } from './scan.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  repositories: Pick<RepositoryService, 'remoteByUrl' | 'boundRepositories' | 'refresh'>;
  warmPools: Pick<WarmPoolService, 'bump'>;
  allowPrivateTargets: boolean;
  newId: () => string;
  now: () => Date;
};

export type { RegistryRow, RegistrySource } from './store.ts';
export type SkillRegistryService = ReturnType<typeof createSkillRegistryService>;

/** What a scan reads, and when it began. */
export type ScanTarget = {
  registryId: string;
  name: string;
  repositoryId: string | null;
  openRemote(): Promise<GitRemote>;
  /** What the last scan read to the end. */
  lastHead: Head | null;
  startedAt: Date;
};

const MAX_REGISTRIES = 20;
const SETTLE_MS = 10_000;
const SETTLE_POLL_MS = 100;
const RESCAN_AFTER_MS = 15 * 60_000;
const RESCAN_BATCH = 100;
/** Behind the scans that somebody waits for. */
const RESCAN_PRIORITY = 10;
/** Scans of one organization that may run side by side, so that slow hosts of one do not keep all workers busy. */
const SCAN_LANES = 3;

export function createSkillRegistryService(parts: Parts) {
  const { environments, repositories, warmPools, allowPrivateTargets, newId, now } = parts;

  async function list(db: Db, caller: Caller, environmentId: string): Promise<store.RegistryRow[]> {
    const environment = await environments.find(db, caller, environmentId);
    return store.selectRegistries(db, environment.id);
  }

  /** Where the registries of several environments lie, for who has found these in their organization. */
  function ofEnvironments(db: Db, environmentIds: readonly string[]): Promise<store.RegistrySource[]> {
    return store.selectSourcesOf(db, environmentIds);
  }

  async function create(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; url: string },
  ): Promise<store.RegistryRow> {
    const url = parseUrl(wanted.url, allowPrivateTargets);
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const existing = await store.selectRegistries(db, environment.id);
    if (existing.length >= MAX_REGISTRIES) {
      throw new AppError(
        'limit_reached',
        `An environment has at most ${MAX_REGISTRIES} skill registries; remove one first.`,
      );
    }
    const row = {
      id: newId(),
      organization_id: caller.organizationId,
      environment_id: environment.id,
      name: url.name,
      url: url.url,
      url_key: url.key,
      repository_full_name: url.fullName,
      created_at: now(),
      updated_at: now(),
    };
    const made = await refusing(alreadyAdded(url), () => store.insertRegistry(db, row));
    await requestScan(db, made, { priority: 0 });
    await warmPools.bump(db, environment);
    return made;
  }

  async function remove(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; skillsRegistryId: string },
  ): Promise<void> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const key = { environmentId: environment.id, id: wanted.skillsRegistryId };
    if (!(await store.deleteRegistry(db, key))) throw notFound('Skill registry');
    await warmPools.bump(db, environment);
  }

  /** The registry once its first scan has ended, or as it is when that takes too long. */
  async function settled(db: Db, id: string, signal: AbortSignal): Promise<store.RegistryRow> {
    const giveUpAt = performance.now() + SETTLE_MS;
    for (;;) {
      const row = await store.selectRegistry(db, id);
      if (!row) throw notFound('Skill registry');
      if (row.scanned_at || performance.now() >= giveUpAt) return row;
      await delay(SETTLE_POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  /** What an environment is bound to, with what lies in it, read within the last seconds where the host answers. */
  async function readBound(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; signal: AbortSignal },
  ): Promise<RepositoryContent[]> {
    const environment = await environments.find(db, caller, wanted.environmentId);
    const bound = await repositories.boundRepositories(db, environment);
    const repositoryIds = bound.map(({ id }) => id);
    return repositories.refresh(db, caller, { repositoryIds, signal: wanted.signal });
  }

  /** Where to read a registry; null when it was removed. */
  async function scanTarget(db: Db, id: string): Promise<ScanTarget | null> {
    const row = await store.selectRegistry(db, id);
    if (!row) return null;
    const key = { organizationId: row.organization_id, urlKey: row.url_key };
    const connected = await repositories.remoteByUrl(db, key);
    return {
      registryId: row.id,
      name: row.name,
      repositoryId: connected?.repositoryId ?? null,
      openRemote: connected?.openRemote ?? (async () => ({ url: row.url })),
      lastHead: isComplete(row) ? { branch: row.default_branch, commit: row.head_commit } : null,
      startedAt: now(),
    };
  }

  /** Keeps what a scan found. It is dropped when the registry is gone or a later scan was faster. */
  async function reportScan(db: Db, target: ScanTarget, scan: RegistryScan): Promise<void> {
    const row = await store.lockRegistry(db, target.registryId);
    if (!row || (row.scanned_at && row.scanned_at > target.startedAt)) return;
    const isMoved = scan.outcome === 'read' && scan.head.commit !== row.head_commit;
    const error = scan.outcome === 'unchanged' ? null : scan.error;
    await store.updateRegistry(db, row.id, {
      ...(scan.outcome === 'read' && {
        default_branch: scan.head.branch,
        head_commit: scan.head.commit,
        // The driver would send a list as an SQL array.
        repo_skills: JSON.stringify(scan.skills),
      }),
      ...(scan.outcome !== 'failed' && { repository_id: target.repositoryId }),
      error,
      scanned_at: target.startedAt,
      updated_at: isMoved || error !== row.error ? now() : row.updated_at,
    });
    const { environment_id: id, organization_id, is_in_global: is_global } = row;
    if (isMoved) await warmPools.bump(db, { id, organization_id, is_global });
  }

  /** Asks for new scans of what was not scanned for a while, some at a time. */
  async function requestDueScans(db: Db): Promise<void> {
    const before = new Date(now().getTime() - RESCAN_AFTER_MS);
    for (const row of await store.selectDue(db, { before, limit: RESCAN_BATCH })) {
      await requestScan(db, row, { priority: RESCAN_PRIORITY });
    }
  }

  return {
    list,
    ofEnvironments,
    create,
    remove,
    settled,
    readBound,
    scanTarget,
    reportScan,
    requestDueScans,
  };
}

/** Whether the last scan has read everything, so that an unmoved head leaves nothing to do. */
function isComplete(row: store.RegistryRow): row is store.RegistryRow & { head_commit: string } {
  return row.head_commit !== null && row.error === null;
}

async function requestScan(
  db: Db,
  { id, organization_id }: Pick<store.RegistryRow, 'id' | 'organization_id'>,
  { priority }: { priority: number },
): Promise<void> {
  const lane = Number.parseInt(id.slice(-4), 16) % SCAN_LANES;
  await enqueue(db, {
    name: 'skill_registry.scan',
    payload: { registry_id: id },
    key: `skill_registry.scan:${id}`,
    // A scan that waits already keeps its place.
    keyMode: 'preserve_run_at',
    queue: `skill_registry.scan:${organization_id}:${lane}`,
    priority,
    maxAttempts: 5,
  });
}

function parseUrl(text: string, allowPrivateTargets: boolean): GitUrl {
  try {
    return parseGitUrl(text, { allowPrivateTargets });
  } catch (error) {
    if (error instanceof GitUrlError) throw new AppError('invalid_request', error.message, null, error);
    throw error;
  }
}

const alreadyAdded = (url: GitUrl) => ({
  skill_registry_url_key: () =>
    new AppError('already_exists', `The environment already has a skill registry with the URL ${url.url}.`),
});

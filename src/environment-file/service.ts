import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import type { WarmPoolService } from '../warm-pool/service.ts';
import { findNestedPath, parseFilePath } from './path.ts';
import * as store from './store.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'find' | 'hold'>;
  warmPools: Pick<WarmPoolService, 'bump' | 'bumpIfChanged'>;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
};
type Key = { environmentId: string; id: string };

/** A file with its content in clear. */
export type EnvironmentFile = Omit<store.FileRow, 'content'> & { content: string };
export type EnvironmentFileService = ReturnType<typeof createEnvironmentFileService>;

const MAX_FILES = 200;
/** All files of an environment together, as they are listed with what they hold. */
const MAX_TOTAL_BYTES = 4 * 1_048_576;

export function createEnvironmentFileService({ environments, warmPools, sealer, newId, now }: Parts) {
  async function list(db: Db, caller: Caller, environmentId: string): Promise<EnvironmentFile[]> {
    const environment = await environments.find(db, caller, environmentId);
    return (await store.selectFiles(db, environment.id)).map(open);
  }

  /** Of several environments at once, in clear, for who has found them in their organization. */
  async function ofEnvironments(db: Db, environmentIds: readonly string[]): Promise<EnvironmentFile[]> {
    return (await store.selectFilesOf(db, environmentIds)).map(open);
  }

  async function read(db: Db, caller: Caller, wanted: Key): Promise<EnvironmentFile> {
    const environment = await environments.find(db, caller, wanted.environmentId);
    return open(await find(db, environment.id, wanted.id));
  }

  async function create(
    db: Db,
    caller: Caller,
    wanted: { environmentId: string; name: string; path: string; content: string },
  ): Promise<EnvironmentFile> {
    const path = acceptPath(wanted.path);
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const places = await store.selectPlaces(db, environment.id);
    if (places.length >= MAX_FILES) {
      throw new AppError('limit_reached', `An environment has at most ${MAX_FILES} files; delete one first.`);
    }
    refuseNesting(path, places);
    requireRoom(places, wanted.content);
    const id = newId();
    const at = now();
    const row = {
      id,
      organization_id: caller.organizationId,
      environment_id: environment.id,
      name: wanted.name,
      path,
      content: seal(id, wanted.content),
      created_at: at,
      updated_at: at,
    };
    const made = await refusing(pathTaken(path), () => store.insertFile(db, row));
    await warmPools.bump(db, environment);
    return open(made);
  }

  async function update(
    db: Db,
    caller: Caller,
    wanted: Key & { name?: string; path?: string; content?: string },
  ): Promise<EnvironmentFile> {
    const path = wanted.path === undefined ? undefined : acceptPath(wanted.path);
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const row = await find(db, environment.id, wanted.id);
    const { id, path: oldPath } = row;
    const others = (await store.selectPlaces(db, environment.id)).filter((place) => place.id !== id);
    if (path !== undefined) refuseNesting(path, others);
    if (wanted.content !== undefined) requireRoom(others, wanted.content);
    // A content that was not given is left alone, so that a key rotation going on beside this is not undone.
    const changes = {
      name: wanted.name,
      path,
      content: wanted.content === undefined ? undefined : seal(id, wanted.content),
      updated_at: now(),
    };
    const changed = await refusing(pathTaken(path ?? oldPath), () => store.updateFile(db, id, changes));
    const [before, after] = [open(row), open(changed)];
    await warmPools.bumpIfChanged(db, environment, { before: baked(before), after: baked(after) });
    return after;
  }

  async function remove(db: Db, caller: Caller, wanted: Key): Promise<void> {
    const environment = await environments.hold(db, caller, wanted.environmentId);
    const row = await find(db, environment.id, wanted.id);
    await store.deleteFile(db, row.id);
    await warmPools.bump(db, environment);
  }

  async function find(db: Db, environmentId: string, id: string): Promise<store.FileRow> {
    const row = await store.selectFile(db, { environmentId, id });
    if (!row) throw notFound('File');
    return row;
  }

  const seal = (id: string, content: string) => sealer.seal(content, context(id));
  const open = (row: store.FileRow): EnvironmentFile => ({
    ...row,
    content: sealer.open(row.content, context(row.id)),
  });

  return { list, ofEnvironments, read, create, update, remove };
}

const context = (id: string) => sealedContext('environment_file', 'content', id);

function acceptPath(given: string): string {
  const { path, refusal } = parseFilePath(given);
  if (path === null) throw new AppError('invalid_request', refusal);
  return path;
}

function refuseNesting(path: string, places: { path: string }[]): void {
  const nested = findNestedPath(
    path,
    places.map((place) => place.path),
  );
  if (nested === null) return;
  const [file, below] = nested.length < path.length ? [nested, path] : [path, nested];
  throw new AppError(
    'already_exists',
    `${file} and ${below} cannot both be files of one environment, as the first would have to be a folder.`,
  );
}

const pathTaken = (path: string) => ({
  environment_file_path_key: () =>
    new AppError('already_exists', `The environment already has a file at ${path}; change it with PATCH.`),
});

/** Sealed contents are a little longer than what they hold, which is close enough for a limit. */
function requireRoom(others: readonly { bytes: number }[], content: string): void {
  const total = others.reduce((sum, { bytes }) => sum + bytes, Buffer.byteLength(content));
  if (total <= MAX_TOTAL_BYTES) return;
  throw new AppError(
    'limit_reached',
    'The files of an environment hold at most 4 MiB together; shorten or delete some.',
  );
}

/** What of a file is part of a workspace. */
const baked = ({ path, content }: EnvironmentFile) => ({ path, content });

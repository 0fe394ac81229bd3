import { open, readFile, rename } from 'node:fs/promises';
import { z } from 'zod';

const diskKind = z.enum(['image', 'folder']);
const processId = z.object({ pid: z.int().positive(), startTime: z.string() });

export type DiskKind = z.infer<typeof diskKind>;

/** What a sandbox was made from; fixed at its creation. */
export const sandboxRecord = z.object({
  key: z.string(),
  base: z.string(),
  disk: diskKind,
  /** Ids of layers, newest first, with those that the layers themselves stand on. */
  layers: z.array(z.string()),
});
export type SandboxRecord = z.infer<typeof sandboxRecord>;

export const layerRecord = z.object({
  name: z.string(),
  base: z.string(),
  disk: diskKind,
  /** Ids of the layers it stands on, newest first. */
  layers: z.array(z.string()),
  /** The sandbox whose disk it was. */
  from: z.string(),
});
export type LayerRecord = z.infer<typeof layerRecord>;

/** What was started. It means nothing after the machine has started anew. */
export const processRecord = z.object({
  bootId: z.string(),
  /** `starting` until the engine's program runs: who finds it so begins again. */
  phase: z.enum(['starting', 'running']),
  /** The process outside the sandbox that becomes bubblewrap. */
  monitor: processId,
  /** The first process inside: all others end with it. */
  init: processId.nullable(),
  /** The engine: a sandbox without it has stopped, whatever else still runs in it. Null where it could not be found. */
  engine: processId.nullable().default(null),
  secret: z.string().nullable(),
});
export type ProcessRecord = z.infer<typeof processRecord>;

/** The record, or undefined when there is none or it is not whole. */
export async function readRecord<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<z.infer<Schema> | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Writes the record whole or not at all. A durable one is on the disk of the machine afterwards. */
export async function writeRecord(
  file: string,
  record: object,
  { durable }: { durable: boolean },
): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(record)}\n`);
    if (durable) await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { listPrices, type ModelPrices } from './price.ts';

const dollars = z.number().min(0).max(1_000_000);
const price = z
  .strictObject({
    input: dollars,
    output: dollars,
    cache_read: dollars.optional(),
    cache_write: dollars.optional(),
  })
  .transform(({ input, output, cache_read: cacheRead = input, cache_write: cacheWrite = input }) => ({
    input,
    output,
    cacheRead,
    cacheWrite,
  }));
const table = z.record(z.string().min(1).max(200).toLowerCase(), price);

/**
 * The prices that an operator has written down, in the place of those that come with the service:
 * `{ "model-name": { "input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75 } }`, in dollars for a million tokens.
 * What costs nothing else for the cache costs what input costs.
 */
export function loadModelPrices(file: string | undefined): ModelPrices {
  if (file === undefined) return listPrices;
  const parsed = table.safeParse(read(file));
  if (parsed.success) return new Map(Object.entries(parsed.data));
  const [issue] = parsed.error.issues;
  throw wrong(`${issue?.path.join('.') || 'the table'}: ${issue?.message ?? 'unknown'}`);
}

function read(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw wrong(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw wrong('the file is not JSON');
  }
}

function wrong(reason: string): ConfigError {
  return new ConfigError(`REPLICA_MODEL_PRICES is wrong: ${reason}`);
}

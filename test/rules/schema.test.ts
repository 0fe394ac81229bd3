import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createDatabase } from '../world/database.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('src/db/schema.ts is what the migrations make', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-schema-'));
  const database = await createDatabase();
  try {
    const file = path.join(folder, 'schema.ts');
    execFileSync(process.execPath, [path.join(root, 'script/generate-schema.ts'), database.url, file]);
    expect(readFileSync(file, 'utf8')).toBe(readFileSync(path.join(root, 'src/db/schema.ts'), 'utf8'));
  } finally {
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
});

import path from 'node:path';
import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { addKey } from '../secret/key-ring.ts';
import { rotateSecrets } from '../secret/rotate.ts';
import { SEALED_COLUMNS } from '../secret/sealed-columns.ts';
import { withDatabase } from './database.ts';
import { CommandError } from './error.ts';

export function secretsCommand(): Command {
  const secrets = new Command('secrets').description('Manage the keys that stored secrets are sealed with.');
  secrets
    .command('rotate')
    .description(
      'Seal every stored secret anew with a new key (or, with REPLICA_SECRET_KEY, with its first key).',
    )
    .action(rotate);
  return secrets;
}

async function rotate(): Promise<void> {
  const config = loadConfig(process.env);
  const { openSealer } = await import('../main.ts');
  if (!config.secretKey) addKey(path.join(config.dataDir, 'secret.key'));
  const sealer = openSealer(config);
  const result = await withDatabase({ config, role: 'replica secrets rotate' }, ({ db }) =>
    rotateSecrets({
      db,
      sealer,
      columns: SEALED_COLUMNS,
      onProgress: ({ table, column, resealed }) =>
        console.error(`${table}.${column}: ${resealed} sealed anew`),
    }),
  );
  console.log(`${result.resealed} secrets are now sealed with key ${sealer.currentKeyId}.`);
  if (result.failures.length > 0)
    throw new CommandError(`${result.failures.length} secrets could not be opened; they are unchanged.`);
}

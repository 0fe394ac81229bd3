import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { createLog } from '../lib/log.ts';
import { withDatabase } from './database.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the database to the shape this release needs. "serve" does this too.')
    .action(async () => {
      const config = loadConfig(process.env);
      const { prepareDatabase } = await import('../main.ts');
      const applied = await withDatabase({ config, role: 'replica migrate' }, (database) =>
        prepareDatabase(database, createLog('warn')),
      );
      console.log(
        applied.length > 0
          ? applied.map((name) => `applied ${name}`).join('\n')
          : 'The database is up to date.',
      );
    });
}

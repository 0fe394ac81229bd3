import { Command } from 'commander';
import { loadConfig, settings, unknownVariables } from '../config.ts';

export function configCommand(): Command {
  return new Command('config')
    .description('List every setting with its value here, and check them.')
    .option('--json', 'print as JSON')
    .action((options: { json?: boolean }) => {
      const rows = Object.values(settings).map(({ variable, fallback, description, secret }) => {
        const given = process.env[variable] || undefined;
        return {
          variable,
          value: secret && given ? '(set)' : (given ?? fallback ?? null),
          is_default: given === undefined,
          description,
        };
      });
      console.log(options.json ? JSON.stringify(rows, null, 2) : rows.map(describe).join('\n'));
      for (const name of unknownVariables(process.env)) console.error(`replica: ${name} is not a setting.`);
      loadConfig(process.env);
    });
}

function describe(row: {
  variable: string;
  value: string | null;
  is_default: boolean;
  description: string;
}): string {
  return `${row.variable}=${row.value ?? ''}${row.is_default ? '  (default)' : ''}\n    ${row.description}`;
}

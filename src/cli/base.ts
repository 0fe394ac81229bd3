import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { CommandError } from './error.ts';

type BuildOptions = { suite: string; with: string[]; force: boolean };

export function baseCommand(): Command {
  const base = new Command('base').description('The system that sandboxes stand on.');
  base
    .command('build')
    .description(
      'Make a Debian tree for the sandboxes of a service that runs as root; "apt-get install" then works in hooks. Without one they see the programs of this machine, read-only.',
    )
    .option('--suite <release>', 'release of Debian', 'bookworm')
    .option('--with <package...>', 'packages besides the usual ones, such as build-essential', [])
    .option('--force', 'build again although there is one', false)
    .action(async ({ suite, with: packages, force }: BuildOptions) => {
      const { dataDir } = loadConfig(process.env);
      const { buildBase } = await import('../runtime/base/build.ts');
      const stopping = new AbortController();
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
      const started = performance.now();
      const { folder, isNew, earlier } = await buildBase({
        dataDir,
        suite,
        packages,
        force,
        onProgress: (line) => console.error(`${elapsed(started)}  ${line}`),
        signal: stopping.signal,
      }).catch((error: unknown) => {
        if (!stopping.signal.aborted) throw error;
        throw new CommandError('the build was stopped; what was there before is unchanged.');
      });
      if (!isNew) console.log(`There is a base already: ${folder}. Add --force to build it again.`);
      else
        console.log(
          `The base is ready: ${folder}. New sandboxes stand on it once the service is started anew.`,
        );
      for (const tree of earlier) {
        console.log(`Sandboxes made before may stand on ${tree}: remove it when there are none left.`);
      }
    });
  return base;
}

function elapsed(started: number): string {
  return `${Math.round((performance.now() - started) / 1000)} s`.padStart(6);
}

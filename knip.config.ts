import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  entry: [
    'src/cli/main.ts',
    'src/client/client.ts',
    'docs/examples/*.ts',
    'bench/{main,bare-server}.ts',
    'chaos/main.ts',
    // Bundled to the one file that runs inside sandboxes.
    'src/engine/main.ts',
    'script/*.ts',
    // Programs that tests start as processes of their own.
    'test/**/*-process.ts',
    // A package of its own for the process that loads it.
    'test/agents/cursor-stand-in/index.ts',
  ],
  project: [
    'src/**/*.ts',
    'test/**/*.ts',
    'bench/**/*.ts',
    'chaos/**/*.ts',
    'script/**/*.ts',
    'docs/**/*.ts',
  ],
  // Programs that scripts run.
  ignoreDependencies: ['@biomejs/biome', 'kysely-codegen'],
  // Programs of Debian that are no packages of npm.
  ignoreBinaries: ['setpriv', 'unshare', 'mkfifo', 'losetup', 'debugfs', 'diff'],
  ignoreExportsUsedInFile: true,
};

export default config;

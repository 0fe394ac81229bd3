import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  entry: [
    'src/cli/main.ts',
    'src/client/client.ts',
    'bench/{main,bare-server}.ts',
    'script/*.ts',
    // Programs that tests start as processes of their own.
    'test/**/*-process.ts',
  ],
  project: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'script/**/*.ts'],
  // Programs that scripts run.
  ignoreDependencies: ['@biomejs/biome', 'kysely-codegen'],
  ignoreExportsUsedInFile: true,
};

export default config;

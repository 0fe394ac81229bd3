import { benchApi } from './api.ts';

const benches: Record<string, { about: string; run: () => Promise<void> }> = {
  api: { about: 'authenticated reads against bare Fastify + pg, start-up time, memory', run: benchApi },
};

const names = process.argv.slice(2);
if (names.includes('--help') || names.includes('-h')) {
  console.log('Usage: script/bench [name …]   (all when none is named)\n');
  for (const [name, { about }] of Object.entries(benches)) console.log(`  ${name.padEnd(10)} ${about}`);
} else {
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    const bench = benches[name];
    if (!bench) throw new Error(`there is no bench "${name}"; --help lists them`);
    await bench.run();
  }
}

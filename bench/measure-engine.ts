import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { engineBundle } from '../src/runtime/engine-bundle.ts';
import { openDriver } from '../src/runtime/registry.ts';
import { removeSandboxes } from '../test/world/remove-sandboxes.ts';
import { type DockerEngine, hasDocker, prepareDockerEngine } from './docker-engine.ts';
import { engineStart, untilEngineAnswers } from './engine-start.ts';
import { progress } from './progress.ts';
import type { BenchPart } from './replica-bench.ts';
import { describeMs, median } from './samples.ts';

const SHARES = [0.5, 0.95];

/** A sandbox with an engine that answers, without a service around it: by our driver, and by `docker run` in turn. */
export const measureEngine: BenchPart = async ({ scale, signal }) => {
  await using cleanup = new AsyncDisposableStack();
  const sandboxes = cleanup.use(await openSandboxes(signal));
  const isDockerThere = await hasDocker(signal);
  const docker: DockerEngine | null = isDockerThere ? cleanup.use(await prepareDockerEngine(signal)) : null;
  progress(`engine starts: ${scale.samples}, ${docker ? 'also by docker run' : 'without Docker'}`);

  const ours: number[] = [];
  const theirs: { ms: number; memoryMiB: number }[] = [];
  // The first round prepares both of them and does not count.
  for (let round = 0; round <= scale.samples; round++) {
    const ms = await sandboxes.time();
    const contained = await docker?.time();
    if (round === 0) continue;
    ours.push(ms);
    if (contained) theirs.push(contained);
  }
  const what = 'new sandbox → its engine answers, p50 / p95';
  const own = { what, measured: describeMs(ours, SHARES) };
  if (!docker)
    return [own, { what: '  docker run of the same engine', measured: 'no Docker engine answers' }];
  const dockerMs = theirs.map(({ ms }) => ms);
  const dockerMiB = median(theirs.map(({ memoryMiB }) => memoryMiB));
  return [
    own,
    { what: '  docker run of the same engine', measured: describeMs(dockerMs, SHARES) },
    {
      what: '  ratio of the medians',
      measured: `${(median(dockerMs) / median(ours)).toFixed(1)} times ours`,
    },
    { what: '  memory of engine and shim under Docker, PSS', measured: `${dockerMiB.toFixed(1)} MiB` },
  ];
};

async function openSandboxes(signal: AbortSignal) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'replica-bench-driver-'));
  const gatewayFolder = path.join(dataDir, 'runtime', 'gateway');
  mkdirSync(gatewayFolder, { recursive: true });
  const driver = await openDriver({
    name: 'namespace',
    acceptsNoIsolation: false,
    dataDir,
    base: 'auto',
    engine: engineBundle(),
    gatewayFolder,
  });

  async function time(): Promise<number> {
    const { id, secret, limits, environment } = engineStart();
    const began = performance.now();
    await driver.create(id, { limits, layers: [], engineEnvironment: environment }, signal);
    await untilEngineAnswers((limit) => driver.connect(id, 'engine', limit), { secret, signal });
    const ms = performance.now() - began;
    await driver.destroy(id);
    return ms;
  }

  return {
    time,
    async [Symbol.asyncDispose]() {
      await driver.close();
      await removeSandboxes(dataDir);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

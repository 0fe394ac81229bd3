import { chmodSync, existsSync } from 'node:fs';
import { arch, release, type } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { version } from '../lib/version.ts';
import type { Enforcement, Probe, SandboxLimits } from '../runtime/driver.ts';
import { engineBundleFolder } from '../runtime/engine-bundle.ts';
import { readMachine } from '../runtime/machine.ts';
import { type KernelLimit, readKernelLimits } from '../runtime/namespace/kernel-limits.ts';
import { openDriver, RuntimeRefusedError } from '../runtime/registry.ts';
import { limitsOf, type Machine, type Size } from '../runtime/size.ts';

type Report = {
  version: string;
  node: string;
  kernel: string;
  user: string;
  machine: Machine;
  driver: string;
  /** Null when the driver could not even be opened. */
  probe: Probe | null;
  sizes: Record<Size, { limits: SandboxLimits; scaled: string[] }>;
  /** Those of the kernel that all sandboxes share. */
  kernelLimits: readonly KernelLimit[];
  problems: readonly string[];
  warnings: readonly string[];
};

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Try what sandboxes need on this machine and say what works. Needs no running service.')
    .option('--json', 'print as JSON')
    .action(async (options: { json?: boolean }) => {
      const report = await examine();
      console.log(options.json ? JSON.stringify(report, null, 2) : describe(report));
      if (report.problems.length > 0) process.exitCode = 1;
    });
}

async function examine(): Promise<Report> {
  const outcome = await tryDriver();
  const machine = readMachine();
  return {
    version,
    node: process.versions.node,
    kernel: `${type()} ${release()} ${arch()}`,
    user: process.getuid?.() === 0 ? 'root' : `user ${process.getuid?.() ?? 'unknown'}`,
    machine,
    driver: outcome.driver,
    probe: outcome.probe,
    sizes: { small: limitsOf('small', machine), large: limitsOf('large', machine) },
    kernelLimits: outcome.driver === 'namespace' ? readKernelLimits() : [],
    problems: outcome.problems,
    warnings: outcome.warnings,
  };
}

type Outcome = {
  driver: string;
  probe: Probe | null;
  problems: readonly string[];
  warnings: readonly string[];
};

async function tryDriver(): Promise<Outcome> {
  const config = loadConfig(process.env);
  const { runtime: name, dataDir } = config;
  const gatewayFolder = path.join(dataDir, 'runtime', 'gateway');
  makeFolder(gatewayFolder);
  // The gateway lets sandboxes in likewise when it opens.
  chmodSync(gatewayFolder, 0o755);
  const bundle = path.join(engineBundleFolder, 'engine.mjs');
  const isBuilt = existsSync(bundle);
  try {
    const driver = await openDriver({
      name,
      acceptsNoIsolation: config.acceptNoIsolation,
      dataDir,
      base: config.sandboxBase,
      // What the machine can do is found out without the engine: any file takes its place.
      engine: { bundle: isBuilt ? bundle : import.meta.filename },
      gatewayFolder,
    });
    try {
      const probe = await driver.probe();
      const missing = isBuilt ? [] : ['The engine has not been built: run script/bootstrap.'];
      return { driver: name, probe, problems: probe.problems, warnings: [...missing, ...probe.warnings] };
    } finally {
      await driver.close();
    }
  } catch (error) {
    if (!(error instanceof RuntimeRefusedError)) throw error;
    return { driver: name, probe: null, problems: [error.message], warnings: [] };
  }
}

function describe(report: Report): string {
  const { machine, probe, problems, warnings } = report;
  const verdict = problems.length > 0 ? 'Sandboxes cannot run here.' : 'Sandboxes can run here.';
  return [
    `Replica Service ${report.version} on Node ${report.node}, as ${report.user}`,
    `${report.kernel}, ${machine.cpus} CPUs, ${machine.memoryMiB} MiB of memory`,
    '',
    row('driver', report.driver),
    ...(probe ? describeProbe(probe) : []),
    ...describeSize('small', report.sizes.small),
    ...describeSize('large', report.sizes.large),
    ...report.kernelLimits.map(describeKernelLimit),
    ...list('Warnings', warnings),
    ...list('Problems', problems),
    '',
    verdict,
  ].join('\n');
}

function describeProbe(probe: Probe): string[] {
  const { limits } = probe;
  return [
    row('isolation', probe.isolation),
    row('identity', identities[probe.identity]),
    row('base', bases[probe.base]),
    row('network', networks[probe.network]),
    row('snapshots', probe.snapshots ? 'yes' : 'no'),
    row('cpu limit', enforcements[limits.cpus]),
    row('memory limit', enforcements[limits.memory]),
    row('disk limit', enforcements[limits.disk]),
    row('process limit', enforcements[limits.processes]),
  ];
}

function describeSize(size: Size, { limits, scaled }: Report['sizes'][Size]): string[] {
  const { cpus, memoryMiB, diskMiB, processes } = limits;
  return [
    row(`size ${size}`, `${cpus} vCPU, ${memoryMiB} MiB memory, ${diskMiB} MiB disk, ${processes} processes`),
    ...scaled.map((sentence) => row('', sentence)),
  ];
}

function describeKernelLimit({ name, value, wanted, canBeRaised }: KernelLimit, index: number): string {
  const verdict =
    value >= wanted
      ? 'enough'
      : canBeRaised
        ? `raised to ${wanted} when the service starts`
        : `${wanted} wanted`;
  return row(index === 0 ? 'kernel' : '', `${name} ${value}: ${verdict}`);
}

function row(name: string, value: string): string {
  return `  ${name.padEnd(15)}${value}`;
}

function list(title: string, sentences: readonly string[]): string[] {
  return sentences.length === 0 ? [] : ['', title, ...sentences.map((sentence) => `  - ${sentence}`)];
}

const identities: Record<Probe['identity'], string> = {
  own_range: 'the root of a sandbox is an ordinary user outside, of a range that nothing else uses',
  service_user: 'processes of a sandbox are those of the user that runs the service',
  none: 'none',
};
const bases: Record<Probe['base'], string> = {
  host: 'the programs of this machine, read-only ("replica base build" makes a tree of its own)',
  rootfs: 'a Debian tree of its own',
  none: 'none',
};
const networks: Record<Probe['network'], string> = {
  gateway_only: 'the gateway is the only way out',
  unrestricted: 'a sandbox reaches everything this machine reaches',
};
const enforcements: Record<Enforcement, string> = {
  hard: 'hard: kept by the kernel',
  soft: 'soft: watched, and can be passed for a while',
  none: 'none',
};

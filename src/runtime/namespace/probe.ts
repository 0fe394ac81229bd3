import { randomBytes } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { release } from 'node:os';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { ENGINE_LISTEN_FD, place } from '../../engine/place.ts';
import type { Driver, Probe, SandboxSpec } from '../driver.ts';
import type { Base } from './bases.ts';
import type { Groups } from './groups.ts';
import { readKernelLimits } from './kernel-limits.ts';
import { idRange } from './launch-spec.ts';
import { findProgram, type Machine } from './machine.ts';
import {
  adviseOnFailure,
  describeLimits,
  type Findings,
  findProblems,
  findWarnings,
  type KernelSettings,
  kernelSettings,
} from './probe-advice.ts';
import type { EngineFiles } from './start.ts';

type Wish = {
  machine: Machine;
  groups: Groups;
  engine: EngineFiles;
  gatewayFolder: string;
  base: Base;
  driver: Pick<Driver, 'suspend' | 'snapshot' | 'removeLayer' | 'destroy' | 'connect'>;
  /** Creates a sandbox that runs another program than the engine. */
  create(key: string, spec: SandboxSpec, command: string[]): Promise<void>;
};

/** Looks at the machine, and then really makes a sandbox, a layer of it and another sandbox on that. */
export async function probeMachine(wish: Wish): Promise<Probe> {
  const { machine, base } = wish;
  const findings = await lookAround(wish);
  const missing = findProblems(findings);
  const tried = missing.length === 0 ? await tryOut(wish, findings) : { problems: missing, warnings: [] };
  const works = tried.problems.length === 0;
  return {
    problems: tried.problems,
    warnings: [...findWarnings(findings), ...tried.warnings],
    isolation: works ? 'namespaces' : 'none',
    identity: works ? machine.identity : 'none',
    base: works ? base.kind : 'none',
    limits: works
      ? describeLimits(findings)
      : { cpus: 'none', memory: 'none', disk: 'none', processes: 'none' },
    // A sandbox that does not start does not reach anything; one that reaches more is a problem above.
    network: 'gateway_only',
    snapshots: works,
  };
}

async function lookAround({ machine, groups, engine, gatewayFolder, base }: Wish): Promise<Findings> {
  const programs = [
    'bwrap',
    'unshare',
    'mount',
    'rm',
    machine.identity === 'own_range' ? 'setpriv' : 'prlimit',
  ];
  const files = [
    engine.node,
    engine.bundle,
    engine.compileCache,
    gatewayFolder,
    base.kind === 'rootfs' ? base.folder : null,
  ];
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return {
    platform: process.platform,
    architecture: process.arch,
    machine,
    missingPrograms: programs.filter((name) => findProgram(name) === undefined),
    missingFiles: files.filter((file) => file !== null).filter((file) => !isReadable(file)),
    settings: readSettings(),
    kernelLimits: readKernelLimits(machine),
    controllers: await groups.controllers(),
    kernel: { major, minor },
  };
}

/** What goes wrong when everything is really done once. */
async function tryOut(
  { machine, gatewayFolder, driver, create }: Wish,
  findings: Findings,
): Promise<Pick<Probe, 'problems' | 'warnings'>> {
  const [first, second] = [
    `probe-${randomBytes(4).toString('hex')}`,
    `probe-${randomBytes(4).toString('hex')}`,
  ];
  const spec = {
    limits: { cpus: 1, memoryMiB: 256, diskMiB: 64, processes: 64 },
    layers: [],
    engineEnvironment: {},
  };
  const command = [place.node, '--eval', witness];
  try {
    await create(first, spec, command);
    const seen = await ask(driver, first);
    await driver.suspend(first);
    await driver.snapshot(first, first);
    await create(second, { ...spec, layers: [first] }, command);
    return judge(seen, { again: await ask(driver, second), machine, gatewayFolder });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { problems: [adviseOnFailure(findings, message)], warnings: [] };
  } finally {
    for (const key of [second, first]) await driver.destroy(key);
    await driver.removeLayer(first);
  }
}

const sight = z.object({
  found: z.boolean(),
  interfaces: z.array(z.string()),
  filtered: z.boolean(),
  users: z.array(z.number()),
  readsEngine: z.boolean(),
  entersGateway: z.boolean(),
});
type Sight = z.infer<typeof sight>;

/** Tells what it sees inside, and whether another one has left its mark on the disk before. */
const witness = `
const fs = require('node:fs');
const mark = ${JSON.stringify(`${place.home}/.mark`)};
const found = fs.existsSync(mark);
fs.writeFileSync(mark, '');
const may = (file, mode) => { try { fs.accessSync(file, mode); return true; } catch { return false; } };
const seen = {
  found,
  interfaces: fs.readFileSync('/proc/net/dev', 'utf8').split('\\n').slice(2, -1).map((line) => line.split(':')[0].trim()),
  filtered: /^Seccomp:\\s*2$/m.test(fs.readFileSync('/proc/self/status', 'utf8')),
  users: fs.readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\\s+/).map(Number),
  readsEngine: may(${JSON.stringify(place.engineBundle)}, fs.constants.R_OK),
  entersGateway: may(${JSON.stringify(place.gatewayFolder)}, fs.constants.X_OK),
};
require('node:http').createServer((_, answer) => answer.end(JSON.stringify(seen))).listen({ fd: ${ENGINE_LISTEN_FD} });
`;

function judge(
  seen: Sight,
  { again, machine, gatewayFolder }: { again: Sight; machine: Machine; gatewayFolder: string },
): Pick<Probe, 'problems' | 'warnings'> {
  const [, outside, count] = seen.users;
  const ownRange = outside === idRange.first && count === idRange.count;
  const say = (holds: boolean, sentence: string) => (holds ? [] : [sentence]);
  return {
    problems: [
      ...say(
        seen.interfaces.every((name) => name === 'lo'),
        `A sandbox sees the network interfaces ${seen.interfaces.join(', ')} and not only its own loopback.`,
      ),
      ...say(
        seen.filtered,
        'The list of refused system calls has no effect: the kernel needs CONFIG_SECCOMP_FILTER.',
      ),
      ...say(
        ownRange || machine.identity === 'service_user',
        'Users of a sandbox are not mapped to a range of their own.',
      ),
      ...say(again.found, 'A layer does not show what its sandbox had written.'),
      ...say(
        seen.readsEngine,
        "The engine's bundle cannot be read from inside: let every user read the file.",
      ),
    ],
    warnings: say(
      seen.entersGateway,
      `The gateway's folder ${gatewayFolder} cannot be entered from inside: let every user enter it.`,
    ),
  };
}

async function ask(driver: Wish['driver'], key: string): Promise<Sight> {
  const connection = await driver.connect(key, 'engine');
  try {
    return await readSight(connection);
  } catch (error) {
    // Where it has stopped, a second attempt says why.
    (await driver.connect(key, 'engine')).destroy();
    throw error;
  } finally {
    connection.destroy();
  }
}

function readSight(connection: Duplex): Promise<Sight> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(30_000);
    const asked = request({ host: 'engine', path: '/', createConnection: () => connection, signal });
    asked.once('error', reject);
    asked.once('response', (answer) => {
      text(answer)
        .then((body) => sight.parse(JSON.parse(body)))
        .then(resolve, reject);
    });
    asked.end();
  });
}

function readSettings(): KernelSettings {
  const read = (name: string) => {
    try {
      return Number(readFileSync(`/proc/sys/${name}`, 'utf8'));
    } catch {
      return undefined;
    }
  };
  return {
    maxUserNamespaces: read(kernelSettings.maxUserNamespaces),
    unprivilegedUserNamespaces: read(kernelSettings.unprivilegedUserNamespaces),
    restrictedUserNamespaces: read(kernelSettings.restrictedUserNamespaces),
  };
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

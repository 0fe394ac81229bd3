import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A stub in the place of npm: a shell script on the PATH that does what the test says, and downloads nothing. */
export type NpmStub = {
  /** Where agents are to be installed. */
  folder: string;
  /** What the PATH has to be for the stub to be found. */
  path: string;
  /** What is in the agents folder, hidden names too. */
  left(): string[];
  /** The arguments of each run so far. */
  runs(): string[];
  /** The variables of the last run. */
  environment(): string;
  /** The processes of the runs so far. */
  pids(): number[];
  /** Lets runs that wait for it go on. */
  open(): void;
  remove(): void;
};

const installed = 'mkdir -p node_modules/@maker/program && echo real > node_modules/@maker/program/file';

export const stubs = {
  /** What npm leaves behind for an agent that is there for this machine. */
  success: installed,
  /** The same, once the test lets it. */
  gated: `until [ -e "$STUB/open" ]; do sleep 0.02; done; ${installed}`,
  /** What it leaves behind when nothing is there for this machine. */
  empty: 'mkdir -p node_modules/.bin node_modules/claude',
  failure: 'echo "npm error code E404" >&2; exit 1',
  /** Writes on for ever, in a process of its own too. */
  endless:
    'mkdir -p node_modules/half; (while :; do date >> node_modules/half/file; sleep 0.02; done) & echo $! >> "$STUB/pids"; wait',
} as const;

export function makeNpmStub(what: keyof typeof stubs): NpmStub {
  const root = mkdtempSync(path.join(tmpdir(), 'npm-stub-'));
  const at = (name: string) => path.join(root, name);
  mkdirSync(at('bin'));
  const noted = 'echo "$*" >> "$STUB/runs"; echo $$ >> "$STUB/pids"; env > "$STUB/environment"';
  writeFileSync(at('bin/npm'), `#!/bin/sh\nSTUB='${root}'\n${noted}\n${stubs[what]}\n`);
  chmodSync(at('bin/npm'), 0o755);
  const read = (name: string) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : '');
  const lines = (name: string) => read(name).split('\n').filter(Boolean);
  return {
    folder: at('agents'),
    path: `${at('bin')}:/usr/bin:/bin`,
    left: () => (existsSync(at('agents')) ? readdirSync(at('agents')) : []),
    runs: () => lines('runs'),
    environment: () => read('environment'),
    pids: () => lines('pids').map(Number),
    open: () => writeFileSync(at('open'), ''),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // What has ended and was not waited for yet does nothing any more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

import type { Readable } from 'node:stream';
import type { EngineContext } from './context.ts';
import { hookFolder } from './hooks.ts';
import { engineLimits } from './limits.ts';
import type { TerminalInfo, TerminalRequest } from './protocol.ts';
import { openPty, type Pty, type PtySize } from './pty.ts';
import { EngineRefusal } from './refusal.ts';
import { followOutput, type TerminalOutput } from './terminal-output.ts';

export type Terminals = {
  list(): TerminalInfo[];
  /** The same id twice is one terminal. */
  create(request: TerminalRequest): Promise<TerminalInfo>;
  /** Resolves when the terminal has room for more. */
  input(id: string, data: Buffer): Promise<void>;
  resize(id: string, size: PtySize): Promise<void>;
  /** What was written from an offset on, then what is written, until the terminal ends. */
  stream(id: string, offset: number): { offset: number; stream: Readable };
  /** Ends the terminal with everything in it. */
  remove(id: string): Promise<void>;
  closeAll(): Promise<void>;
};

type Terminal = {
  info: TerminalInfo;
  pty: Pty;
  output: TerminalOutput;
  /** Inputs come one after the other, each when there is room for it. */
  lastInput: Promise<void>;
  waitingBytes: number;
};

export function createTerminals(context: EngineContext): Terminals {
  const terminals = new Map<string, Terminal>();
  const opening = new Map<string, Promise<TerminalInfo>>();

  function find(id: string): Terminal {
    const terminal = terminals.get(id);
    if (terminal === undefined) throw new EngineRefusal(404, 'There is no such terminal in the workspace.');
    return terminal;
  }

  function findAlive(id: string): Terminal {
    const terminal = find(id);
    if (terminal.info.exitCode !== null)
      throw new EngineRefusal(409, 'The program in the terminal has ended.');
    return terminal;
  }

  function refuseTooMany(): void {
    const alive = [...terminals.values()].filter(({ info }) => info.exitCode === null);
    if (alive.length + opening.size < engineLimits.terminals) return;
    throw new EngineRefusal(
      409,
      `The workspace has ${engineLimits.terminals} terminals, which is as many as it may. Close one first.`,
    );
  }

  async function open({ id, cols, rows, command }: TerminalRequest): Promise<TerminalInfo> {
    const pty = await openPty({
      command: command ?? null,
      size: { cols, rows },
      cwd: hookFolder({ repository: null }, context),
      environment: context.childEnvironment(),
      tree: id,
    });
    const info: TerminalInfo = { id, cols, rows, createdAt: context.now().toISOString(), exitCode: null };
    const output = followOutput(pty.output, { maxBytes: engineLimits.terminalScrollbackBytes });
    terminals.set(id, { info, pty, output, lastInput: Promise.resolve(), waitingBytes: 0 });
    pty.ended.then((exitCode) => {
      info.exitCode = exitCode;
      output.end();
      forgetOldest();
    });
    return { ...info };
  }

  /** Those that have ended stay until they are removed, but not without end. */
  function forgetOldest(): void {
    const ended = [...terminals].filter(([, { info }]) => info.exitCode !== null);
    for (const [id] of ended.slice(0, Math.max(0, ended.length - maxEnded))) terminals.delete(id);
  }

  async function remove(id: string): Promise<void> {
    await opening.get(id)?.catch(() => {});
    const terminal = terminals.get(id);
    if (terminal === undefined) return;
    await terminal.pty.kill();
    terminals.delete(id);
  }

  return {
    list: () => [...terminals.values()].map(({ info }) => ({ ...info })),
    async create(request) {
      const known = terminals.get(request.id);
      if (known !== undefined) return { ...known.info };
      const pending = opening.get(request.id);
      if (pending !== undefined) return pending;
      refuseTooMany();
      const opened = open(request).finally(() => opening.delete(request.id));
      opening.set(request.id, opened);
      return opened;
    },
    async input(id, data) {
      const terminal = findAlive(id);
      if (data.length > maxInputBytes)
        throw new EngineRefusal(413, `An input has at most ${maxInputBytes} bytes.`);
      if (terminal.waitingBytes + data.length > maxWaitingBytes)
        throw new EngineRefusal(409, 'The program in the terminal does not read its input.');
      terminal.waitingBytes += data.length;
      const written = terminal.lastInput.then(() => terminal.pty.write(data));
      terminal.lastInput = written.catch(() => {});
      try {
        await written;
      } finally {
        terminal.waitingBytes -= data.length;
      }
    },
    async resize(id, { cols, rows }) {
      const terminal = findAlive(id);
      await terminal.pty.resize({ cols, rows });
      Object.assign(terminal.info, { cols, rows });
    },
    stream: (id, offset) => find(id).output.stream(offset),
    remove,
    async closeAll() {
      await Promise.all([...opening.keys(), ...terminals.keys()].map(remove));
    },
  };
}

const maxInputBytes = 65_536;
const maxWaitingBytes = 1_048_576;
const maxEnded = 32;

import { PassThrough, type Readable } from 'node:stream';
import type { TerminalInfo, TerminalRequest } from '../../engine/protocol.ts';
import type { FakeDisk } from './machine.ts';

export type FakeTerminal = {
  info: TerminalInfo;
  output(): Buffer;
  input(bytes: Buffer): void;
  /** What it has printed from that offset on and what it prints afterwards, until it ends. */
  stream(offset: number): Readable;
  end(): void;
};

/** Runs no program: without a command it prints what is typed. */
export function createFakeTerminal(request: TerminalRequest, disk: FakeDisk, now: () => Date): FakeTerminal {
  const { id, cols, rows, command } = request;
  const info: TerminalInfo = { id, cols, rows, createdAt: now().toISOString(), exitCode: null };
  const readers = new Set<PassThrough>();
  let printed: Buffer = Buffer.alloc(0);

  function print(bytes: Buffer): void {
    printed = Buffer.concat([printed, bytes]);
    for (const reader of readers) reader.write(bytes);
  }

  function end(exitCode: number): void {
    info.exitCode ??= exitCode;
    for (const reader of readers) reader.end();
    readers.clear();
  }

  if (command !== undefined) {
    const { text, exitCode } = pretend(command, disk);
    print(Buffer.from(text));
    end(exitCode);
  }
  return {
    info,
    output: () => printed,
    input: print,
    stream(offset) {
      const reader = new PassThrough();
      reader.write(printed.subarray(offset));
      if (info.exitCode === null) readers.add(reader);
      else reader.end();
      return reader;
    },
    end: () => end(0),
  };
}

/** `echo TEXT > PATH` and `cat PATH` write and read a file of the fake disk; everything else prints itself. */
function pretend(command: string, { files }: FakeDisk): { text: string; exitCode: number } {
  const [, written, target] = /^echo (.*) > (\S+)$/.exec(command) ?? [];
  if (written !== undefined && target !== undefined) {
    files.set(target, `${written}\n`);
    return { text: '', exitCode: 0 };
  }
  const source = /^cat (\S+)$/.exec(command)?.[1];
  if (source === undefined) return { text: `fake: ${command}\n`, exitCode: 0 };
  const text = files.get(source);
  if (text === undefined) return { text: `cat: ${source}: No such file or directory\n`, exitCode: 1 };
  return { text, exitCode: 0 };
}

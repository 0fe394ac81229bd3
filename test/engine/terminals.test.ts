import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createTerminals, type Terminals } from '../../src/engine/terminals.ts';
import { openWorkshop } from './workshop.ts';

async function openStage() {
  const workshop = await openWorkshop();
  const terminals = createTerminals(workshop.context);
  onTestFinished(async () => {
    await terminals.closeAll();
    await workshop.close();
  });
  return { workshop, terminals };
}

/** Collects what a stream gives, and waits for words in it. */
function listen(stream: Readable) {
  let text = '';
  let isEnded = false;
  stream.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  stream.on('end', () => {
    isEnded = true;
  });
  stream.on('error', () => {});
  return {
    text: () => text,
    until: (words: string | RegExp) =>
      vi.waitFor(() => expect(text).toMatch(words), { timeout: 10_000, interval: 10 }),
    end: () => vi.waitFor(() => expect(isEnded).toBe(true), { timeout: 10_000, interval: 10 }),
  };
}

async function open(terminals: Terminals, options: { command?: string; cols?: number; rows?: number } = {}) {
  const id = randomUUID();
  const { cols = 80, rows = 24, ...rest } = options;
  const info = await terminals.create({ id, cols, rows, ...rest });
  return { id, info, output: listen(terminals.stream(id, 0).stream) };
}

const type = (terminals: Terminals, id: string, text: string) => terminals.input(id, Buffer.from(text));
const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

describe('a terminal', () => {
  test('runs a shell of its own terminal in ~/workspaces, with the environment of the workspace', async () => {
    const { terminals, workshop } = await openStage();
    const { id, output, info } = await open(terminals);
    expect(info).toEqual({ id, cols: 80, rows: 24, createdAt: expect.any(String), exitCode: null });
    await type(
      terminals,
      id,
      'echo "<$(tty)|$PWD|$TERM|$HOME|$SHELL|$PATH|$-|ä>"; env | grep -c REPLICA_PTY\n',
    );
    const home = workshop.home;
    await output.until(/<\/dev\/pts\/\d+\|.*\|himBHs\|ä>\r\n0\r\n/);
    expect(output.text()).toContain(
      `|${home}/workspaces|xterm-256color|${home}|/bin/bash|${process.env.PATH}:`,
    );
    await type(terminals, id, 'exit 7\n');
    await output.end();
    expect(terminals.list()).toEqual([{ ...info, exitCode: 7 }]);
  });

  test('starts in the folder of the only repository', async () => {
    const { terminals, workshop } = await openStage();
    workshop.bind({ name: 'app', url: 'http://127.0.0.1:1/app' });
    mkdirSync(join(workshop.home, 'workspaces/app'));
    const { output } = await open(terminals, { command: 'pwd; exit 300' });
    await output.end();
    expect(output.text().trim()).toBe(join(workshop.home, 'workspaces/app'));
    expect(terminals.list()[0]?.exitCode).toBe(300 % 256);
  });

  // One of the two changes: the tool that sets both sets one after the other, and this program looks once.
  test.each([
    { cols: 101, rows: 44 },
    { cols: 55, rows: 33 },
  ])('has its size from the first moment, and tells programs when it becomes %o', async ({ cols, rows }) => {
    const { terminals } = await openStage();
    const command = 'stty size; trap "stty size; exit" WINCH; echo ready; while :; do read -t 1; done';
    const { id, output } = await open(terminals, { command, cols: 101, rows: 33 });
    await output.until(/33 101\r\nready/);
    await terminals.resize(id, { cols, rows });
    await output.end();
    expect(output.text()).toContain(`ready\r\n${rows} ${cols}\r\n`);
    expect(terminals.list()[0]).toMatchObject({ cols, rows });
  });

  test('replays from an offset and goes on live, to several readers', async () => {
    const { terminals } = await openStage();
    const { id, output } = await open(terminals, {
      command: 'stty -echo; printf 0123456789; read line; printf "$line"',
    });
    await output.until('0123456789');
    const second = terminals.stream(id, 4);
    expect(second.offset).toBe(4);
    const late = listen(second.stream);
    await type(terminals, id, 'abc\n');
    await Promise.all([output.end(), late.end()]);
    expect([output.text(), late.text()]).toEqual(['0123456789abc', '456789abc']);
    const after = terminals.stream(id, 99);
    expect(after.offset).toBe(13);
    await listen(after.stream).end();
  });

  test('keeps the last 256 KiB and loses nothing for a reader that keeps up', async () => {
    const { terminals } = await openStage();
    const { id, output } = await open(terminals, { command: 'stty -onlcr; seq -w 1 300000' });
    await output.end();
    expect(output.text().length).toBe(2_100_000);
    expect(output.text().endsWith('300000\n')).toBe(true);
    const { offset, stream } = terminals.stream(id, 0);
    const kept = listen(stream);
    await kept.end();
    expect([offset, kept.text().length]).toEqual([2_100_000 - 262_144, 262_144]);
  });

  test('cuts a reader that takes nothing, so that the program goes on', async () => {
    const { terminals } = await openStage();
    const { id } = await open(terminals, { command: 'sleep 0.2; seq -w 1 300000' });
    const stuck = terminals.stream(id, 0).stream;
    const failed = vi.fn();
    stuck.on('error', failed);
    await vi.waitFor(() => expect(terminals.list()[0]?.exitCode).toBe(0), { timeout: 10_000, interval: 20 });
    expect(failed).toHaveBeenCalledOnce();
  });

  test('takes an input of 64 KiB whole, and none that is larger', async () => {
    const { terminals } = await openStage();
    const { id, output } = await open(terminals, {
      command: 'stty -echo; echo ready; head -c 196608 | md5sum; echo done',
    });
    await output.until('ready');
    const line = `${'x'.repeat(63)}\n`;
    for (let piece = 0; piece < 3; piece += 1) await type(terminals, id, line.repeat(1_024));
    await output.until('done');
    expect(output.text()).toContain(createHash('md5').update(line.repeat(3_072)).digest('hex'));
    await expect(terminals.input(id, Buffer.alloc(65_537))).rejects.toMatchObject({ status: 413 });
  });

  test('is one when it is asked for twice, and gone when it is removed, with everything in it', async () => {
    const { terminals, workshop } = await openStage();
    const id = randomUUID();
    const pids = join(workshop.home, 'pids');
    const command = `sleep 1000 & echo $! > ${pids}; setsid --fork sh -c 'echo $$ >> ${pids}; exec sleep 1000'; trap "" HUP TERM; while :; do sleep 1; done`;
    const request = { id, cols: 80, rows: 24, command };
    const [first, second] = await Promise.all([terminals.create(request), terminals.create(request)]);
    expect(second).toEqual(first);
    const read = () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : []);
    await vi.waitFor(() => expect(read()).toHaveLength(2), 5_000);
    const output = listen(terminals.stream(id, 0).stream);
    await terminals.remove(id);
    await output.end();
    expect(read().filter(isAlive)).toEqual([]);
    expect(terminals.list()).toEqual([]);
    await terminals.remove(id);
  });

  test('is refused above eight; those that have ended do not count', async () => {
    const { terminals } = await openStage();
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => open(terminals, { command: 'read line' })),
    );
    await expect(open(terminals)).rejects.toMatchObject({ status: 409 });
    const [first] = opened;
    await type(terminals, first?.id ?? '', '\n');
    await first?.output.end();
    await open(terminals, { command: 'true' });
    expect(terminals.list()).toHaveLength(9);
  });

  test('that does not exist or has ended is refused', async () => {
    const { terminals } = await openStage();
    await expect(terminals.input(randomUUID(), Buffer.from('x'))).rejects.toMatchObject({ status: 404 });
    expect(() => terminals.stream(randomUUID(), 0)).toThrow(/no such terminal/);
    const { id, output } = await open(terminals, { command: 'true' });
    await output.end();
    await expect(terminals.resize(id, { cols: 1, rows: 1 })).rejects.toMatchObject({ status: 409 });
  });

  test('opens whatever the profile of the workspace does', async () => {
    const { terminals, workshop } = await openStage();
    writeFileSync(join(workshop.home, '.bash_profile'), 'PATH=/nowhere; export SHELL=/bin/false; echo hello');
    const { output } = await open(terminals, { command: 'type -t git; echo "$PATH"' });
    await output.end();
    expect(output.text()).toMatch(/^hello\r\nfile\r\n.*:\/nowhere\r\n$/);
  });
});

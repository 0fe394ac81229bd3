import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createCanvas } from '../../src/engine/canvas.ts';
import { openWorkshop } from './workshop.ts';

async function openStage() {
  const workshop = await openWorkshop();
  const canvas = createCanvas(workshop.context);
  canvas.start();
  onTestFinished(async () => {
    canvas.close();
    await workshop.close();
  });
  const folder = join(workshop.home, '.replica/canvas');
  const { gateway } = workshop;
  return {
    workshop,
    canvas,
    gateway,
    folder,
    write: (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content),
    items: () => Object.fromEntries([...gateway.canvas].map(([name, { body }]) => [name, body?.toString()])),
    puts: () => gateway.requests.filter(({ method }) => method === 'PUT').length,
  };
}

describe('the canvas', () => {
  test('is copied as it changes, without being asked', async () => {
    const { write, items, folder } = await openStage();
    write('plan.md', '# one');
    await vi.waitFor(() => expect(items()).toEqual({ 'plan.md': '# one' }), 5_000);
    appendFileSync(join(folder, 'plan.md'), ' two');
    renameSync(join(folder, 'plan.md'), join(folder, 'other.md'));
    await vi.waitFor(() => expect(items()).toEqual({ 'other.md': '# one two' }), 5_000);
    rmSync(join(folder, 'other.md'));
    await vi.waitFor(() => expect(items()).toEqual({}), 5_000);
  });

  test('is there when sync returns, with names as they are', async () => {
    const { write, items, canvas } = await openStage();
    const names = [
      'a b.md',
      'ünï✓.png',
      '100%.txt',
      '#?&+',
      'new\nline',
      '..hidden',
      "it's (1)!~*",
      '__proto__',
    ];
    for (const name of names) write(name, name);
    await canvas.sync();
    expect(Object.entries(items()).sort()).toEqual(names.map((name) => [name, name]).sort());
  });

  test('holds plain files only: no folders, links, fifos or names that are not UTF-8', async () => {
    const { write, items, canvas, folder, workshop } = await openStage();
    writeFileSync(join(workshop.home, 'secret'), 'secret');
    symlinkSync('../../secret', join(folder, 'link.md'));
    mkdirSync(join(folder, 'folder.md'));
    execFileSync('/usr/bin/mkfifo', [join(folder, 'fifo.md')]);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), 'x');
    write('plain.md', 'plain');
    await canvas.sync();
    expect(items()).toEqual({ 'plain.md': 'plain' });
    rmSync(join(folder, 'plain.md'));
    symlinkSync('../../secret', join(folder, 'plain.md'));
    await canvas.sync();
    expect(items()).toEqual({});
  });

  test('takes five megabytes, and of a larger item the size alone', async () => {
    const { write, canvas, gateway } = await openStage();
    write('fits.bin', Buffer.alloc(5_000_000, 1));
    write('large.bin', Buffer.alloc(5_000_001, 1));
    await canvas.sync();
    expect(gateway.canvas.get('fits.bin')).toMatchObject({ sizeBytes: 5_000_000, body: expect.any(Buffer) });
    expect(gateway.canvas.get('large.bin')).toEqual({ sizeBytes: 5_000_001, body: null });
  });

  test('is not sent again when nothing has changed, also not by a new engine', async () => {
    const { write, canvas, workshop, puts, folder } = await openStage();
    write('a.md', 'a');
    await canvas.sync();
    utimesSync(join(folder, 'a.md'), 1, 1);
    await canvas.sync();
    canvas.close();
    const after = createCanvas(workshop.context);
    after.start();
    onTestFinished(() => after.close());
    await after.sync();
    expect(puts()).toBe(1);
  });

  test('sends a change that left size and time as they were', async () => {
    const { write, canvas, items, folder } = await openStage();
    for (const content of ['aaa', 'bbb', 'ccc']) {
      write('a.md', content);
      utimesSync(join(folder, 'a.md'), 1, 1);
      await canvas.sync();
      expect(items()).toEqual({ 'a.md': content });
    }
  });

  test('is sent later when the gateway is away', async () => {
    const { write, canvas, items, gateway } = await openStage();
    write('a.md', 'a');
    gateway.fail({ times: 1, status: 503 });
    await expect(canvas.sync()).rejects.toThrow('503');
    await vi.waitFor(() => expect(items()).toEqual({ 'a.md': 'a' }), 5_000);
  });

  test('is sent again after nobody wanted it, and not after it was refused', async () => {
    const { write, canvas, items, gateway } = await openStage();
    write('a.md', 'a');
    gateway.fail({ times: 1, status: 404 });
    await canvas.sync();
    await canvas.sync();
    expect(items()).toEqual({ 'a.md': 'a' });
    write('b.md', 'b');
    gateway.fail({ times: 1, status: 409 });
    await canvas.sync();
    await canvas.sync();
    expect(items()).toEqual({ 'a.md': 'a' });
  });

  test('goes on after its folder was removed, or was something else for a while', async () => {
    const { write, canvas, items, folder } = await openStage();
    write('a.md', 'a');
    await canvas.sync();
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'not a folder');
    await canvas.sync();
    expect(items()).toEqual({});
    rmSync(folder);
    await canvas.sync();
    expect(existsSync(folder)).toBe(true);
    write('b.md', 'b');
    await vi.waitFor(() => expect(items()).toEqual({ 'b.md': 'b' }), 5_000);
  });

  test('has at most 500 items', async () => {
    const { write, canvas, gateway } = await openStage();
    for (let index = 0; index < 503; index += 1) write(`${1_000 + index}.md`, 'x');
    await canvas.sync();
    expect(gateway.canvas.size).toBe(500);
    expect(gateway.canvas.has('1502.md')).toBe(false);
  });
});

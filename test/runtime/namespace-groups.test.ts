import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createGroups } from '../../src/runtime/namespace/groups.ts';

const limits = { cpus: 1, memoryMiB: 64, diskMiB: 64, processes: 10 };
const layout = { groupName: 'replica-test' };
const machine = { identity: 'own_range' as const };

/** A plain folder stands for a tree of version 2, which not every machine has: what is written can be read. */
describe('groups in a tree of version 2', () => {
  let tree: string;
  beforeEach(() => {
    tree = mkdtempSync(path.join(tmpdir(), 'replica-groups-'));
  });
  afterEach(() => rmSync(tree, { recursive: true, force: true }));
  const read = (...names: string[]) => readFileSync(path.join(tree, ...names), 'utf8');

  test('every group above hands the controllers down, and the group has the limits', async () => {
    const hierarchies = [{ version: 2 as const, folder: tree, controllers: ['cpu', 'io', 'memory', 'pids'] }];
    const groups = createGroups({ layout, machine, hierarchies });
    const joined = await groups.make('one', limits);
    expect(joined).toEqual([path.join(tree, 'replica-test/sandbox-one/cgroup.procs')]);
    expect(await groups.controllers()).toEqual(new Set(['cpu', 'memory', 'pids']));
    expect(read('cgroup.subtree_control')).toBe('+pids');
    expect(read('replica-test/cgroup.subtree_control')).toBe('+cpu +memory +pids');
    expect(read('replica-test/sandbox-one/cpu.max')).toBe('100000 100000');
    expect(read('replica-test/sandbox-one/memory.max')).toBe('67108864');
    expect(read('replica-test/sandbox-one/memory.swap.max')).toBe('0');
    expect(read('replica-test/sandbox-one/pids.max')).toBe('10');
    expect(groups.list()).toEqual(['one']);
  });

  test('what a tree does not hand down is not limited, and nothing fails for it', async () => {
    // A folder in the place of the file refuses every write.
    mkdirSync(path.join(tree, 'cgroup.subtree_control'));
    const hierarchies = [{ version: 2 as const, folder: tree, controllers: ['memory'] }];
    const groups = createGroups({ layout, machine, hierarchies });
    expect(await groups.controllers()).toEqual(new Set());
    expect(await groups.make('one', limits)).toHaveLength(1);
  });

  test('a tree that cannot be written has no groups', async () => {
    const hierarchies = [{ version: 1 as const, folder: '/proc/sys', controllers: ['memory'] }];
    const groups = createGroups({ layout, machine, hierarchies });
    expect(await groups.controllers()).toEqual(new Set());
    expect(await groups.make('one', limits)).toEqual([]);
    expect(await groups.end('one')).toBe(true);
    await groups.remove('one');
  });
});

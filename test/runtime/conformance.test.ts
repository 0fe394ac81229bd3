import { text } from 'node:stream/consumers';
import { v7 as newId } from 'uuid';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Driver, SandboxLostError, type SandboxState } from '../../src/runtime/driver.ts';
import { type DriverName, driverNames } from '../../src/runtime/registry.ts';
import { countProcesses, createStage, type Stage } from './drivers.ts';
import { engineOf, putFile, readFile, runInside, specOf } from './engine-call.ts';

/** What this machine says about each driver; one that cannot run here is skipped under the name of its problem. */
const stages = await Promise.all(driverNames.map(openStage));
afterAll(async () => {
  const removals = await Promise.allSettled(stages.map(({ stage }) => stage.remove()));
  expect(removals.filter(({ status }) => status === 'rejected')).toEqual([]);
});

for (const { name, stage, problem, snapshots } of stages) {
  const title = problem ? `driver ${name} (cannot run here: ${problem})` : `driver ${name}`;
  describe.skipIf(problem !== null)(title, () => {
    afterEach(() => removeEverything(stage.driver));
    describe('lives', () => lives(stage));
    describe('ends', () => ends(stage));
    describe('is shared', () => isShared(stage));
    describe.runIf(snapshots)('keeps layers', () => keepsLayers(stage));
  });
}

async function openStage(name: DriverName) {
  const stage = await createStage(name);
  try {
    const { problems, snapshots } = await stage.driver.probe();
    return { name, stage, problem: problems[0] ?? null, snapshots };
  } catch (error) {
    await stage.remove();
    throw error;
  }
}

function lives({ name, driver, killEngine, listenInside }: Stage): void {
  test('what is created runs and its engine answers', async () => {
    const key = newId();
    expect(await driver.observe(key)).toBe('absent');
    await driver.create(key, specOf(key, [], 7));
    expect(await driver.observe(key)).toBe('running');
    expect(await engineOf(driver, key)).toMatchObject({ incarnation: 7 });
  });

  test('creating it again leaves the running engine alone', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    const { uptimeSeconds } = await engineOf(driver, key);
    await driver.create(key, specOf(key, [], 2));
    const after = await engineOf(driver, key);
    expect(after.incarnation).toBe(1);
    expect(after.uptimeSeconds).toBeGreaterThanOrEqual(uptimeSeconds);
  });

  test('suspend ends it and resume finds its home as it was', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    await putFile(driver, key, 'note', 'kept');
    await driver.suspend(key);
    expect(await driver.observe(key)).toBe('stopped');
    await expect(driver.connect(key, 'engine')).rejects.toThrow();
    await driver.suspend(key);
    await driver.resume(key, specOf(key, [], 2));
    await driver.resume(key, specOf(key, [], 3));
    expect(await driver.observe(key)).toBe('running');
    expect(await engineOf(driver, key)).toMatchObject({ incarnation: 2 });
    expect(await readFile(driver, key, 'note')).toBe('kept');
  });

  test.runIf(name !== 'fake')('suspend ends what has left its terminal as well', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    await engineOf(driver, key);
    // A length that nothing else on this machine sleeps for.
    const program = `sleep ${100_000 + Math.random()}`;
    await runInside(driver, key, `setsid ${program} & ${program}`);
    await expect.poll(() => countProcesses(program), { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
    await driver.suspend(key);
    expect(countProcesses(program)).toBe(0);
  });

  test('creating a stopped one starts it on the disk it has', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    await putFile(driver, key, 'note', 'kept');
    await driver.suspend(key);
    await driver.create(key, specOf(key, [], 2));
    expect(await readFile(driver, key, 'note')).toBe('kept');
  });

  test('an engine that was killed is observed as stopped and can be resumed', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    await putFile(driver, key, 'note', 'kept');
    killEngine(key);
    await waitForState(driver, key, 'stopped');
    await driver.resume(key, specOf(key, [], 2));
    expect(await engineOf(driver, key)).toMatchObject({ incarnation: 2 });
    expect(await readFile(driver, key, 'note')).toBe('kept');
  });

  test('what listens inside can be reached, and what does not is refused', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    const port = await listenInside(key);
    await expect.poll(() => hear(driver, key, port), { timeout: 20_000 }).toBe('hello');
    await expect(driver.connect(key, { port: 9 })).rejects.toThrow();
  });

  test('a caller that has gone away gets nothing made', async () => {
    const key = newId();
    await expect(driver.create(key, specOf(key), AbortSignal.abort())).rejects.toThrow();
    expect(await driver.observe(key)).not.toBe('running');
  });
}

function ends({ driver, killEngine }: Stage): void {
  test('resuming what does not exist says that it is lost', async () => {
    const key = newId();
    await expect(driver.resume(key, specOf(key))).rejects.toThrow(SandboxLostError);
    await driver.create(key, specOf(key));
    await driver.destroy(key);
    await expect(driver.resume(key, specOf(key, [], 2))).rejects.toThrow(SandboxLostError);
  });

  const preparations: [string, (key: string) => Promise<void>][] = [
    ['unknown', async () => undefined],
    ['running', (key) => driver.create(key, specOf(key))],
    ['stopped', (key) => driver.create(key, specOf(key)).then(() => driver.suspend(key))],
    ['crashed', (key) => driver.create(key, specOf(key)).then(() => killEngine(key))],
    ['aborted', (key) => driver.create(key, specOf(key), AbortSignal.abort()).catch(() => undefined)],
  ];
  test.each(preparations)('destroy succeeds, and again, when it is %s', async (_, prepare) => {
    const key = newId();
    await prepare(key);
    await driver.destroy(key);
    await driver.destroy(key);
    expect(await driver.observe(key)).toBe('absent');
    expect((await driver.list()).sandboxes).toEqual([]);
  });

  test('suspending what does not exist changes nothing', async () => {
    const key = newId();
    await driver.suspend(key);
    expect(await driver.observe(key)).toBe('absent');
  });

  test('after destroy the same key starts empty', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    await putFile(driver, key, 'note', 'old');
    await driver.destroy(key);
    await driver.create(key, specOf(key));
    expect(await readFile(driver, key, 'note')).toContain('No such file');
  });
}

function isShared({ driver, openAnother }: Stage): void {
  test('several are made at once, each with a home of its own', async () => {
    const keys = [newId(), newId(), newId()];
    await Promise.all(keys.map((key) => driver.create(key, specOf(key))));
    await Promise.all(keys.map((key) => putFile(driver, key, 'note', key)));
    expect(await Promise.all(keys.map((key) => readFile(driver, key, 'note')))).toEqual(keys);
    const { sandboxes } = await driver.list();
    const expected = keys.map((key) => ({ key, state: 'running' }));
    expect(sandboxes.sort(byKey)).toEqual(expected.sort(byKey));
  });

  test('the list tells running from stopped', async () => {
    const [one, two] = [newId(), newId()];
    await Promise.all([driver.create(one, specOf(one)), driver.create(two, specOf(two))]);
    await driver.suspend(two);
    const { sandboxes } = await driver.list();
    expect(Object.fromEntries(sandboxes.map(({ key, state }) => [key, state]))).toEqual({
      [one]: 'running',
      [two]: 'stopped',
    });
  });

  test('another driver on the same folder adopts what runs', async () => {
    const key = newId();
    await driver.create(key, specOf(key));
    await putFile(driver, key, 'note', 'kept');
    const another = await openAnother();
    try {
      expect(await another.observe(key)).toBe('running');
      expect((await another.list()).sandboxes).toEqual([{ key, state: 'running' }]);
      await another.create(key, specOf(key, [], 2));
      expect(await engineOf(another, key)).toMatchObject({ incarnation: 1 });
      await another.suspend(key);
      expect(await driver.observe(key)).toBe('stopped');
      await another.resume(key, specOf(key, [], 2));
      expect(await readFile(driver, key, 'note')).toBe('kept');
      await another.destroy(key);
      expect(await driver.observe(key)).toBe('absent');
    } finally {
      await another.close();
    }
  });
}

function keepsLayers({ driver }: Stage): void {
  async function makeLayer(layer: string, from: string[], content: string): Promise<void> {
    const key = newId();
    await driver.create(key, specOf(key, from));
    await putFile(driver, key, content, content);
    await driver.suspend(key);
    await driver.snapshot(key, layer);
    expect(await driver.observe(key)).toBe('absent');
  }

  test('sandboxes start from a snapshot and do not see what the others write', async () => {
    const layer = newId();
    expect(await driver.hasLayer(layer)).toBe(false);
    await makeLayer(layer, [], 'below');
    expect(await driver.hasLayer(layer)).toBe(true);
    expect((await driver.list()).layers).toEqual([layer]);
    const [one, two] = [newId(), newId()];
    await Promise.all([one, two].map((key) => driver.create(key, specOf(key, [layer]))));
    await putFile(driver, one, 'own', 'one');
    expect(await readFile(driver, one, 'below')).toBe('below');
    expect(await readFile(driver, two, 'below')).toBe('below');
    expect(await readFile(driver, two, 'own')).toContain('No such file');
  });

  test('a snapshot of what stands on a snapshot needs both', async () => {
    const [below, above] = [newId(), newId()];
    await makeLayer(below, [], 'first');
    await makeLayer(above, [below], 'second');
    const key = newId();
    await driver.create(key, specOf(key, [above, below]));
    expect(await readFile(driver, key, 'first')).toBe('first');
    expect(await readFile(driver, key, 'second')).toBe('second');
  });

  test('a snapshot that is repeated succeeds, and one of what runs is refused', async () => {
    const [layer, key] = [newId(), newId()];
    await driver.create(key, specOf(key));
    await engineOf(driver, key);
    await expect(driver.snapshot(key, layer)).rejects.toThrow();
    await driver.suspend(key);
    await driver.snapshot(key, layer);
    await driver.snapshot(key, layer);
    expect(await driver.hasLayer(layer)).toBe(true);
  });

  test('a layer that was removed cannot be started from; a sandbox on it goes on', async () => {
    const layer = newId();
    await makeLayer(layer, [], 'below');
    const [user, late] = [newId(), newId()];
    await driver.create(user, specOf(user, [layer]));
    await driver.removeLayer(layer);
    await driver.removeLayer(layer);
    expect(await driver.hasLayer(layer)).toBe(false);
    await driver.suspend(user);
    await driver.resume(user, specOf(user, [layer], 2));
    expect(await readFile(driver, user, 'below')).toBe('below');
    await expect(driver.create(late, specOf(late, [layer]))).rejects.toThrow(SandboxLostError);
    expect(await driver.observe(late)).toBe('absent');
  });

  test('a sandbox on a layer that never was is lost before it is made', async () => {
    const [key, layer] = [newId(), newId()];
    await expect(driver.create(key, specOf(key, [layer]))).rejects.toThrow(SandboxLostError);
    await expect(driver.resume(key, specOf(key, [layer], 2))).rejects.toThrow(SandboxLostError);
  });
}

async function waitForState(driver: Driver, key: string, state: SandboxState): Promise<void> {
  await expect.poll(() => driver.observe(key), { timeout: 10_000, interval: 10 }).toBe(state);
}

/** What a port says, or nothing while it does not answer yet. */
async function hear(driver: Driver, key: string, port: number): Promise<string | null> {
  try {
    return await text(await driver.connect(key, { port }));
  } catch {
    return null;
  }
}

async function removeEverything(driver: Driver): Promise<void> {
  const before = await driver.list();
  await Promise.all(before.sandboxes.map(({ key }) => driver.destroy(key)));
  await Promise.all(before.layers.map((layer) => driver.removeLayer(layer)));
  expect(await driver.list()).toEqual({ sandboxes: [], layers: [] });
}

function byKey(one: { key: string }, other: { key: string }): number {
  return one.key.localeCompare(other.key);
}

import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { GitError } from '../git/failure.ts';
import type { SkillReading } from './read-skills.ts';
import { createSkillShelf, type SkillOrder } from './skill-shelf.ts';

const log = pino({ level: 'silent' });
const forever = new AbortController().signal;
const shelves: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const shelf of shelves.splice(0)) await shelf.close();
});

function setUp(options: { waitMs?: number; maxBytes?: number } = {}) {
  let clock = 0;
  const shelf = createSkillShelf({ log, now: () => new Date(clock), ...options });
  shelves.push(shelf);
  return {
    shelf,
    pass: (ms: number) => {
      clock += ms;
    },
  };
}

const reading = (commit: string, contentBase64 = ''): SkillReading => ({
  commit,
  skills: [{ slug: 'pdf', files: [{ path: 'SKILL.md', contentBase64 }], bytes: contentBase64.length }],
  problems: [],
});

/** An order that counts how often git is asked; what git answers can be set from outside. */
type CountingOrder = SkillOrder & { asked: number; answer(signal: AbortSignal): Promise<SkillReading> };
function orderFor(changes: Partial<SkillOrder> = {}): CountingOrder {
  const order: CountingOrder = {
    asked: 0,
    key: 'a',
    organizationId: 'org',
    judge: () => 'current',
    url: 'https://git.example/a',
    findRemote: async () => ({ url: 'https://git.example/a' }),
    answer: async () => reading('c1'),
    read: (_remote, signal) => {
      order.asked += 1;
      return order.answer(signal);
    },
    ...changes,
  };
  return order;
}

/** A git host that answers only when the read is ended. */
const silence = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

test('what is on the shelf is not read again', async () => {
  const { shelf } = setUp();
  const order = orderFor();
  expect(await shelf.take(order, forever)).toEqual({ reading: reading('c1'), problem: null });
  expect(await shelf.take(order, forever)).toEqual({ reading: reading('c1'), problem: null });
  expect(order.asked).toBe(1);
});

test('who asks at the same time shares one read', async () => {
  const { shelf } = setUp();
  const order = orderFor();
  const taken = await Promise.all([shelf.take(order, forever), shelf.take(order, forever)]);
  expect(taken.map((one) => one.reading?.commit)).toEqual(['c1', 'c1']);
  expect(order.asked).toBe(1);
});

test('what is outdated is read again, and a read that began too early does not count', async () => {
  const { shelf, pass } = setUp();
  const order = orderFor();
  const first = Promise.withResolvers<SkillReading>();
  order.answer = () => first.promise;
  const early = shelf.take(order, forever);
  await expect.poll(() => order.asked).toBe(1);
  pass(10);
  const later = {
    ...order,
    judge: ({ readAt }: { readAt: Date }) =>
      (readAt.getTime() >= 10 ? 'current' : 'outdated') as 'current' | 'outdated',
  };
  order.answer = async () => reading('c2');
  expect((await shelf.take(later, forever)).reading?.commit).toBe('c2');
  first.resolve(reading('c1'));
  expect((await early).reading?.commit).toBe('c1');
  expect(order.asked).toBe(2);
});

test('a read that ends late does not replace a newer one', async () => {
  const { shelf, pass } = setUp();
  const order = orderFor();
  const first = Promise.withResolvers<SkillReading>();
  order.answer = () => first.promise;
  const early = shelf.take(order, forever);
  await expect.poll(() => order.asked).toBe(1);
  pass(10);
  order.answer = async () => reading('c2');
  await shelf.take(
    { ...order, judge: ({ readAt }) => (readAt.getTime() >= 10 ? 'current' : 'outdated') },
    forever,
  );
  first.resolve(reading('c1'));
  await early;
  expect((await shelf.take(order, forever)).reading?.commit).toBe('c2');
});

test('what is stale is given at once and read anew beside', async () => {
  const { shelf } = setUp();
  const order = orderFor();
  await shelf.take(order, forever);
  const second = Promise.withResolvers<SkillReading>();
  order.answer = () => second.promise;
  const stale = { ...order, judge: () => 'stale' as const };
  expect((await shelf.take(stale, forever)).reading?.commit).toBe('c1');
  second.resolve(reading('c2'));
  await expect.poll(async () => (await shelf.take(order, forever)).reading?.commit).toBe('c2');
});

test('a failed read is a problem, and is tried again after a while', async () => {
  const { shelf, pass } = setUp();
  const order = orderFor();
  order.answer = async () => {
    throw new GitError('not_found', 'There is no repository at this URL.');
  };
  const failed = { reading: null, problem: 'There is no repository at this URL.' };
  expect(await shelf.take(order, forever)).toEqual(failed);
  pass(29_999);
  expect(await shelf.take(order, forever)).toEqual(failed);
  expect(order.asked).toBe(1);
  pass(1);
  order.answer = async () => reading('c1');
  expect(await shelf.take(order, forever)).toEqual({ reading: reading('c1'), problem: null });
});

test('what was read before is given with the problem when a new read fails', async () => {
  const { shelf } = setUp();
  const order = orderFor();
  await shelf.take(order, forever);
  order.answer = async () => {
    throw new TypeError('secret detail');
  };
  const taken = await shelf.take({ ...order, judge: () => 'outdated' }, forever);
  expect(taken).toEqual({
    reading: reading('c1'),
    problem: 'They could not be read because of a fault of this service.',
  });
});

test('nobody waits longer than the time, and who comes later does not wait again', async () => {
  const { shelf } = setUp({ waitMs: 50 });
  const order = orderFor();
  order.answer = silence;
  const slow = { reading: null, problem: 'The git host did not answer within 0.05 seconds.' };
  expect(await shelf.take(order, forever)).toEqual(slow);
  const startedAt = performance.now();
  expect(await shelf.take(order, forever)).toEqual(slow);
  expect(performance.now() - startedAt).toBeLessThan(40);
  expect(order.asked).toBe(1);
});

test('a read goes on without those who have waited, and the next one finds it done', async () => {
  const { shelf } = setUp({ waitMs: 20 });
  const order = orderFor();
  const slow = Promise.withResolvers<SkillReading>();
  order.answer = () => slow.promise;
  expect((await shelf.take(order, forever)).reading).toBeNull();
  slow.resolve(reading('c1'));
  await expect.poll(async () => (await shelf.take(order, forever)).reading?.commit).toBe('c1');
  expect(order.asked).toBe(1);
});

test('who goes away stops waiting with the reason', async () => {
  const { shelf } = setUp();
  const order = orderFor();
  order.answer = silence;
  const leaving = new AbortController();
  const taken = shelf.take(order, leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(taken).rejects.toThrow('gone');
});

test('closing ends what is being read', async () => {
  const { shelf } = setUp();
  const order = orderFor();
  order.answer = silence;
  const taken = shelf.take(order, forever);
  await expect.poll(() => order.asked).toBe(1);
  await shelf.close();
  expect((await taken).reading).toBeNull();
});

test('the shelf holds no more than it has room for', async () => {
  const { shelf } = setUp({ maxBytes: 10_000 });
  const [first, second] = [orderFor({ key: 'a' }), orderFor({ key: 'b' })];
  first.answer = async () => reading('c1', 'A'.repeat(5_000));
  second.answer = async () => reading('c1', 'A'.repeat(5_000));
  await shelf.take(first, forever);
  await shelf.take(second, forever);
  await shelf.take(first, forever);
  expect([first.asked, second.asked]).toEqual([2, 1]);
});

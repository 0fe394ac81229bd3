import { expect, test } from 'vitest';
import { createFlights } from './mirror-flight.ts';

const signal = new AbortController().signal;

function stage() {
  let clock = 0;
  let started = 0;
  const gates: PromiseWithResolvers<string>[] = [];
  const flights = createFlights<string>(() => clock);
  const work = () => {
    started += 1;
    const gate = Promise.withResolvers<string>();
    gates.push(gate);
    return gate.promise;
  };
  return {
    flights,
    join: (since: number, own = signal) => flights.join({ key: 'k', since, signal: own, work }),
    moveTo(at: number) {
      clock = at;
    },
    gate: (index: number) => gates[index] as PromiseWithResolvers<string>,
    started: () => started,
  };
}

test('work that began late enough is shared', async () => {
  const { join, gate, moveTo, started } = stage();
  moveTo(10);
  const both = [join(5), join(10)];
  gate(0).resolve('one');
  expect(await Promise.all(both)).toEqual(['one', 'one']);
  expect(started()).toBe(1);
});

test('work that began too early is waited for and done again, once for all who need it', async () => {
  const { join, gate, moveTo, started } = stage();
  moveTo(10);
  const first = join(0);
  moveTo(20);
  const late = [join(15), join(15)];
  gate(0).reject(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  await expect.poll(started).toBe(2);
  gate(1).resolve('two');
  expect(await Promise.all(late)).toEqual(['two', 'two']);
  expect(started()).toBe(2);
});

test('who goes away leaves the work to the others', async () => {
  const { flights, join, gate } = stage();
  const gone = new AbortController();
  const first = join(0, gone.signal);
  const second = join(0);
  gone.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  gate(0).resolve('done');
  expect(await second).toBe('done');
  await flights.settle();
});

test('a failure is told to all who share the work, and the next one begins anew', async () => {
  const { join, gate, started } = stage();
  const both = [join(0), join(0)];
  gate(0).reject(new Error('down'));
  for (const one of both) await expect(one).rejects.toThrow('down');
  const next = join(0);
  gate(1).resolve('up');
  expect(await next).toBe('up');
  expect(started()).toBe(2);
});

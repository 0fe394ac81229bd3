import { describe, expect, test } from 'vitest';
import { createCounter, createSlots } from './slots.ts';

const signal = new AbortController().signal;

describe('createSlots', () => {
  test('slots are given in order, and each is freed once', async () => {
    const slots = createSlots(1);
    const given: number[] = [];
    const free = await slots.take(signal);
    const taking = async (name: number) => {
      const release = await slots.take(signal);
      given.push(name);
      return release;
    };
    const second = taking(2);
    const third = taking(3);
    expect(given).toEqual([]);
    free();
    free();
    const freeSecond = await second;
    expect(given).toEqual([2]);
    freeSecond();
    (await third)();
    (await slots.take(signal))();
  });

  test('who stops waiting does not take a slot', async () => {
    const slots = createSlots(1);
    const free = await slots.take(signal);
    const gone = new AbortController();
    const waiting = slots.take(gone.signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    free();
    (await slots.take(signal))();
  });
});

describe('createCounter', () => {
  test('each key has its own bound', () => {
    const counter = createCounter(1);
    const free = counter.take('a');
    expect(counter.take('a')).toBeNull();
    expect(counter.take('b')).not.toBeNull();
    free?.();
    free?.();
    expect(counter.take('a')).not.toBeNull();
    expect(counter.take('a')).toBeNull();
  });
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JsonObject } from './agent.ts';
import { gatherText } from './gather-text.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const deltas: JsonObject[] = [];
  return { deltas, text: gatherText({ delta: async (event) => void deltas.push(event) }) };
}

test('pieces that follow each other quickly are one', async () => {
  const { deltas, text } = open();
  for (const piece of ['Hel', 'lo', '', ' there']) await text.add('text', piece);
  expect(deltas).toEqual([]);
  await vi.advanceTimersByTimeAsync(100);
  await text.add('text', '!');
  await text.flush();
  await text.flush();
  expect(deltas).toEqual([
    { type: 'text', text: 'Hello there' },
    { type: 'text', text: '!' },
  ]);
});

test('thoughts and words are told apart, in their order', async () => {
  const { deltas, text } = open();
  await text.add('thinking', 'Hm.');
  await text.add('text', 'Yes.');
  await text.add('thinking', 'Well.');
  await text.flush();
  expect(deltas).toEqual([
    { type: 'thinking', text: 'Hm.' },
    { type: 'text', text: 'Yes.' },
    { type: 'thinking', text: 'Well.' },
  ]);
});

test('what is long enough is passed on at once', async () => {
  const { deltas, text } = open();
  await text.add('text', 'x'.repeat(20_000));
  expect(deltas).toHaveLength(1);
});

test('a report that fails breaks nothing by itself', async () => {
  const text = gatherText({ delta: () => Promise.reject(new Error('no')) });
  await text.add('text', 'x');
  await vi.advanceTimersByTimeAsync(100);
  await text.flush();
});

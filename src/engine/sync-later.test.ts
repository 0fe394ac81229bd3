import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSyncLater } from './sync-later.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An outbox in which one event after the other is noted; `synced` has the last number at each sync. */
function openOutbox() {
  const synced: number[] = [];
  const outbox = {
    acked: 0,
    next: 1,
    sync: async () => void synced.push(outbox.next - 1),
  };
  const later = createSyncLater({ afterMs: 200, onError: () => {} });
  const append = () => {
    outbox.next += 1;
    later.note(outbox);
  };
  return { outbox, synced, append, later };
}

test('what the gateway takes in time is not synced', () => {
  const { outbox, synced, append } = openOutbox();
  append();
  vi.advanceTimersByTime(199);
  outbox.acked = 1;
  vi.advanceTimersByTime(1_000);
  expect(synced).toEqual([]);
});

test('what waits is synced once, with what came meanwhile', () => {
  const { synced, append } = openOutbox();
  append();
  vi.advanceTimersByTime(199);
  append();
  vi.advanceTimersByTime(1_000);
  expect(synced).toEqual([2]);
});

test('an event that came shortly before others were taken is synced in its own time', () => {
  const { outbox, synced, append } = openOutbox();
  append();
  vi.advanceTimersByTime(199);
  outbox.acked = 1;
  append();
  vi.advanceTimersByTime(1);
  expect(synced).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(synced).toEqual([2]);
});

test('nothing is synced after the close', () => {
  const { synced, append, later } = openOutbox();
  append();
  later.close();
  vi.advanceTimersByTime(1_000);
  expect(synced).toEqual([]);
});

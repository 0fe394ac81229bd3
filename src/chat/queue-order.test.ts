import { expect, test } from 'vitest';
import { movesTo, nextPosition, type Placed } from './queue-order.ts';

const queueOf = (ids: string, positions?: number[]): Placed[] =>
  [...ids].map((id, index) => ({ id, position: positions?.[index] ?? index + 1 }));

/** The queue after the moves were written and read back in order. */
function after(queue: Placed[], moves: Placed[]): string {
  const positions = new Map(moves.map(({ id, position }) => [id, position]));
  return queue
    .map((one) => ({ id: one.id, position: positions.get(one.id) ?? one.position }))
    .sort((a, b) => a.position - b.position)
    .map(({ id }) => id)
    .join('');
}

test.each([
  ['to the front', 'c', 0, 'cabd'],
  ['to the end', 'a', 3, 'bcda'],
  ['past the end', 'a', 99, 'bcda'],
  ['forward', 'a', 2, 'bcad'],
  ['backward', 'd', 1, 'adbc'],
  ['by one', 'b', 2, 'acbd'],
])('a message is moved %s', (_where, id, index, expected) => {
  const queue = queueOf('abcd');
  const moves = movesTo(queue, id, index);
  expect(moves).toHaveLength(1);
  expect(after(queue, moves)).toBe(expected);
});

test.each([
  ['it stands there already', 'abc', 'b', 1],
  ['it stands at the end and is asked past it', 'abc', 'c', 99],
  ['it is alone', 'a', 'a', 5],
  ['it is not in the queue', 'abc', 'z', 0],
  ['the queue is empty', '', 'a', 0],
])('nothing changes when %s', (_why, ids, id, index) => {
  expect(movesTo(queueOf(ids), id, index)).toEqual([]);
});

test('when no number lies between the neighbours, all are numbered anew', () => {
  const queue = queueOf('abc', [1, 1 + Number.EPSILON, 7]);
  const moves = movesTo(queue, 'c', 1);
  expect(moves).toEqual(queueOf('acb'));
});

test('the order survives any number of moves into the same gap', () => {
  let queue = queueOf('abcdefgh');
  let expected = 'abcdefgh';
  for (let round = 0; round < 500; round++) {
    const id = expected.at(-1) ?? '';
    const moves = movesTo(queue, id, 1);
    expected = `${expected[0]}${id}${expected.slice(1, -1)}`;
    const positions = new Map(moves.map((move) => [move.id, move.position]));
    queue = queue
      .map((one) => ({ id: one.id, position: positions.get(one.id) ?? one.position }))
      .sort((a, b) => a.position - b.position);
    expect(queue.map((one) => one.id).join('')).toBe(expected);
  }
});

test.each([
  ['an empty queue', null, 1],
  ['a whole position', 3, 4],
  ['a fraction', 2.75, 3],
  ['a position below zero', -1.5, -1],
])('a new message stands after %s', (_what, last, expected) => {
  expect(nextPosition(last)).toBe(expected);
});

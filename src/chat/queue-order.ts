export type Placed = { id: string; position: number };

/** The position after the last one of a queue, null being that of an empty one. */
export function nextPosition(last: number | null): number {
  return last === null ? 1 : Math.floor(last) + 1;
}

/**
 * The positions to write so that the message stands at `index`, counted from 0; an index past the end means the end.
 * Usually it is one between those of its new neighbours; when no number lies between them, all are numbered anew.
 * Empty when it stands there already, or is not in the queue. The queue comes in order.
 */
export function movesTo(queue: readonly Placed[], id: string, index: number): Placed[] {
  const moved = queue.find((one) => one.id === id);
  if (!moved) return [];
  const others = queue.filter((one) => one !== moved);
  const target = Math.min(index, others.length);
  if (queue.indexOf(moved) === target) return [];
  const before = others[target - 1]?.position;
  const after = others[target]?.position;
  const position = between(before, after);
  if (position !== null) return [{ id, position }];
  return others.toSpliced(target, 0, moved).map((one, place) => ({ id: one.id, position: place + 1 }));
}

/** A number between two neighbours, or null when there is none; an absent neighbour is the end of the queue. */
function between(before: number | undefined, after: number | undefined): number | null {
  if (before === undefined) return after === undefined ? 1 : after - 1;
  if (after === undefined) return before + 1;
  const middle = before + (after - before) / 2;
  return before < middle && middle < after ? middle : null;
}

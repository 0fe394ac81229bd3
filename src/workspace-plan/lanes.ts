type Lane = { running: number; waiting: (() => void)[] };

/** Runs work of one key so many at a time; the rest waits in order, and other keys do not wait for it. */
export function createLanes(width: number): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const lanes = new Map<string, Lane>();

  return async (key, work) => {
    const lane: Lane = lanes.get(key) ?? { running: 0, waiting: [] };
    lanes.set(key, lane);
    if (lane.running < width) lane.running += 1;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place goes over to whoever waits, so that nobody who comes meanwhile takes it.
      const next = lane.waiting.shift();
      if (next) next();
      else lane.running -= 1;
      if (lane.running === 0) lanes.delete(key);
    }
  };
}

type Passenger<T> = {
  key: string;
  /** Work that began before this time is of no use. */
  since: number;
  signal: AbortSignal;
  work: () => Promise<T>;
};

type Flight<T> = { startedAt: number; done: Promise<T> };

export type Flights<T> = {
  join(passenger: Passenger<T>): Promise<T>;
  /** Waits for all that is under way. */
  settle(): Promise<void>;
};

/** Lets those who want the same work share it. It goes on when the one who began it goes. */
export function createFlights<T>(now: () => number): Flights<T> {
  const flights = new Map<string, Flight<T>>();

  function start({ key, work }: Passenger<T>): Flight<T> {
    const flight = { startedAt: now(), done: work().finally(() => flights.delete(key)) };
    // Nobody may be waiting any more when it fails.
    flight.done.catch(() => {});
    flights.set(key, flight);
    return flight;
  }

  return {
    async join(passenger) {
      const { key, since, signal } = passenger;
      const earlier = flights.get(key);
      if (earlier && earlier.startedAt < since) await orAborted(Promise.allSettled([earlier.done]), signal);
      // Whatever is under way after that wait began after this call.
      return orAborted((flights.get(key) ?? start(passenger)).done, signal);
    },
    async settle() {
      await Promise.allSettled([...flights.values()].map(({ done }) => done));
    },
  };
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

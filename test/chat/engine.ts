import type { EngineInfo, TurnRequest } from '../../src/engine/protocol.ts';
import { EngineUnreachableError } from '../../src/sandbox/engine-client.ts';

type Answer = { status: number; body: unknown };
type Command = { method: string; path: string; body?: unknown };

/**
 * A stand-in for the engine of one sandbox that keeps to its protocol: the same id twice is one turn, and a chat runs
 * one turn at a time. What a turn does is up to the test, which is also its outbox.
 */
export function createStandInEngine() {
  const turns = new Map<string, TurnRequest>();
  const running = new Map<string, string>();
  const arrivals: TurnRequest[] = [];
  const listeners = new Set<(turn: TurnRequest) => void>();
  const reports = new Set<Promise<void>>();
  let saysTurns = true;
  let canFlush = true;
  let incarnation = 1;
  let isReachable = true;
  let refusal: number | null = null;
  let breaksOffAfterTaking = false;
  let stumbles = false;

  function take(turn: TurnRequest): Answer {
    if (turns.has(turn.id)) return { status: 202, body: null };
    if (running.has(turn.chatId)) return { status: 409, body: null };
    turns.set(turn.id, turn);
    running.set(turn.chatId, turn.id);
    arrivals.push(turn);
    for (const listener of listeners) listener(turn);
    return { status: 202, body: null };
  }

  function interrupt(id: string): Answer {
    const turn = turns.get(id);
    const interrupted = turn !== undefined && running.get(turn.chatId) === id;
    return { status: 200, body: { interrupted } };
  }

  function describe(): EngineInfo {
    const about = {
      protocol: { oldest: 1, newest: 1 },
      version: '0',
      incarnation,
      uptimeSeconds: 1,
      boot: null,
    };
    return saysTurns ? { ...about, turns: [...running.values()] } : about;
  }

  return {
    /** The turns in the order in which they were taken. */
    arrivals,
    /** Calls the listener with every turn that is taken from here on. */
    onArrival(listener: (turn: TurnRequest) => void): void {
      listeners.add(listener);
    },
    /** The ids of turns that a caller asked to interrupt. */
    interrupts: [] as string[],
    /** The ids of chats that it was asked to forget. */
    forgotten: [] as string[],
    /** How often it was asked what it is, and how often to bring out what it said. */
    looks: 0,
    flushes: 0,
    async command({ method, path, body }: Command): Promise<Answer> {
      if (!isReachable) throw new EngineUnreachableError('The engine cannot be reached.');
      const interrupted = /^\/turns\/(.+)\/interrupt$/.exec(path)?.[1];
      if (interrupted) {
        this.interrupts.push(interrupted);
        if (!stumbles) return interrupt(interrupted);
        stumbles = false;
        return { status: 500, body: { error: 'The engine could not do it.' } };
      }
      const asked = `${method} ${path}`;
      const forgotten = /^DELETE \/chats\/(.+)$/.exec(asked)?.[1];
      if (forgotten) {
        this.forgotten.push(forgotten);
        return { status: 204, body: null };
      }
      if (asked === 'GET /') {
        this.looks += 1;
        return { status: 200, body: describe() };
      }
      if (asked === 'POST /flush') {
        this.flushes += 1;
        if (!canFlush) return { status: 503, body: null };
        await Promise.all(reports);
        return { status: 200, body: {} };
      }
      if (asked !== 'POST /turns') return { status: 404, body: null };
      if (refusal !== null) return { status: refusal, body: { error: 'The engine has a reason.' } };
      const answer = take(body as TurnRequest);
      if (!breaksOffAfterTaking) return answer;
      breaksOffAfterTaking = false;
      throw new EngineUnreachableError('The engine broke off.');
    },
    /** The chat is free for its next turn; what is said of the end of this one is on its way. */
    async end(turn: TurnRequest, report: () => Promise<void>): Promise<void> {
      if (running.get(turn.chatId) === turn.id) running.delete(turn.chatId);
      const reported = report();
      reports.add(reported);
      await reported.finally(() => reports.delete(reported));
    },
    /** From here on it speaks as an engine that does not say which turns it works on. */
    becomeOlder(): void {
      saysTurns = false;
    },
    refuseFlushes(): void {
      canFlush = false;
    },
    /** From here on it is the engine of another start of the sandbox. */
    setIncarnation(number: number): void {
      incarnation = number;
    },
    setReachable(reachable: boolean): void {
      isReachable = reachable;
    },
    /** Answers every turn with this status, until it is set to null. */
    refuseWith(status: number | null): void {
      refusal = status;
    },
    /** Takes the next turn and breaks off before it answers. */
    breakOffOnce(): void {
      breaksOffAfterTaking = true;
    },
    /** Fails to do the next interruption that it is asked for. */
    stumbleOnce(): void {
      stumbles = true;
    },
    /** Forgets everything, like an engine on a new disk. */
    forget(): void {
      turns.clear();
      running.clear();
    },
  };
}

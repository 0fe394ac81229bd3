import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { ReplicaService } from '../replica/service.ts';
import { createLanes } from '../sandbox/lanes.ts';
import { retryDelayMs, type Verdict, verdictOf } from './delivery.ts';
import { type Addressee, type Asking, type EngineTurns, isAddressee } from './engine-turns.ts';
import type { ComposeTurn, TurnToSend, Whole } from './turn-request.ts';
import type { Outcome, Turns } from './turns.ts';

type Parts = {
  db: Db;
  turns: Pick<Turns, 'dispatch' | 'find' | 'finish' | 'markSent'>;
  replicas: Pick<ReplicaService, 'lock' | 'emit'>;
  engine: EngineTurns;
  composeTurn: ComposeTurn;
  log: Logger;
  now: () => Date;
};
/** How often it was tried before, and on whose behalf. */
type Attempt = { tries: number; asking: Asking };
type Due = { toSend: readonly TurnToSend[]; toInterrupt: readonly TurnToSend[] };

export type HandOver = ReturnType<typeof createHandOver>;

const INSTALLING_MS = 1_000;
/** What comes on top is left to its job, which comes within seconds. */
const MAX_UNDER_WAY = 100;
/** Messages whose images are in memory at once, each up to the size of what an engine takes. */
const MAX_FETCHING = 8;
const MAX_ANNOUNCED = 1_000;
const INTERRUPTED: Outcome = { state: 'interrupted', error: null };

/** Hands running messages to engines, and ends those that no engine will take. */
export function createHandOver({ db, turns, replicas, engine, composeTurn, log, now }: Parts) {
  const announced = new Set<string>();
  const fetching = new Set<string>();
  const underWay = new Set<Promise<void>>();
  const closing = new AbortController();
  const inLane = createLanes();
  const untilClosed: Asking = { signal: closing.signal, log };

  /** Hands a message over that has just left its queue; whatever goes wrong is left to its job. */
  function begin(row: Addressee, turn: TurnToSend): void {
    if (closing.signal.aborted || underWay.size >= MAX_UNDER_WAY) return;
    const due = { toSend: [turn], toInterrupt: [] };
    follow(
      turn,
      inLane(row.id, () => bring(row, due, { tries: 0, asking: untilClosed })),
    );
  }

  /** Nobody waits for the end of the work but who closes. */
  function follow(turn: TurnToSend, work: Promise<void>): void {
    const followed = work
      .catch((error: unknown) => {
        if (!closing.signal.aborted)
          log.warn({ replicaId: turn.replica_id, messageId: turn.id, err: error }, 'chat.not_handed_over');
      })
      .finally(() => underWay.delete(followed));
    underWay.add(followed);
  }

  /** Brings an engine what is due, and asks for another job when it has to be tried again. */
  async function bring(row: Addressee, { toSend, toInterrupt }: Due, attempt: Attempt): Promise<void> {
    const sent = toSend.map((turn) => deliver(row, turn, attempt));
    const ended = toInterrupt.map((turn) => interrupt(row, turn, attempt.asking));
    await tryAgain(row, await Promise.all([...sent, ...ended]), attempt);
  }

  async function tryAgain(
    row: Addressee,
    verdicts: readonly Verdict[],
    { tries }: Pick<Attempt, 'tries'>,
  ): Promise<void> {
    if (verdicts.includes('installing') && !verdicts.includes('later')) {
      await turns.dispatch(db, row, { tries, runAt: new Date(now().getTime() + INSTALLING_MS) });
      return;
    }
    if (!verdicts.includes('later')) return;
    const waitMs = retryDelayMs(tries);
    // Whoever cannot be reached for so long is found lost, and its successor is sent the messages.
    if (waitMs === null) return;
    const runAt = new Date(now().getTime() + waitMs);
    await turns.dispatch(db, row, { tries: tries + 1, runAt });
  }

  async function deliver(row: Addressee, turn: TurnToSend, attempt: Attempt): Promise<Verdict> {
    const composed = await composeTurn(db, turn);
    if (composed === 'installing') {
      await announceInstalling(row, turn);
      return composed;
    }
    announced.delete(turn.id);
    if ('fetchImages' in composed) return deliverLater(row, turn, { ...attempt, ...composed });
    return transmit(row, turn, { ...attempt, composed });
  }

  /** Neither other messages of the replica nor an interrupt wait for images: the lane is free until they are there. */
  function deliverLater(
    row: Addressee,
    turn: TurnToSend,
    { tries, fetchImages }: Attempt & { fetchImages(signal: AbortSignal): Promise<Whole> },
  ): Verdict {
    if (fetching.has(turn.id)) return 'fetching';
    if (closing.signal.aborted || fetching.size >= MAX_FETCHING) return 'later';
    fetching.add(turn.id);
    const bringWhole = async () => {
      const composed = await fetchImages(closing.signal);
      await inLane(row.id, async () => {
        const present = await findUnsent(row.id, turn.id);
        if (!present) return;
        const verdict = await transmit(present, turn, { tries, asking: untilClosed, composed });
        await tryAgain(present, [verdict], { tries });
      });
    };
    const work = bringWhole().catch(async (error: unknown) => {
      // The job that was there for this may have come and gone.
      await tryAgain(row, ['later'], { tries });
      throw error;
    });
    follow(
      turn,
      work.finally(() => fetching.delete(turn.id)),
    );
    return 'fetching';
  }

  /** The replica as it is now, when the message is still to be sent to its engine. */
  async function findUnsent(replicaId: string, id: string): Promise<Addressee | null> {
    return transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      const turn = await turns.find(tx, { replicaId, id });
      const isUnsent = turn?.state === 'running' && turn.sent_at === null && !turn.isChatDeleted;
      return isUnsent && isAddressee(row) ? row : null;
    });
  }

  async function transmit(
    row: Addressee,
    turn: TurnToSend,
    { composed, tries, asking }: Attempt & { composed: Whole },
  ): Promise<Verdict> {
    if ('refusal' in composed) {
      await end(row, turn.id, { state: 'failed', error: composed.refusal });
      return 'refused';
    }
    const answer = await engine.send(row, composed.request, asking);
    if (answer === null) return 'later';
    const { status, reason } = answer;
    const verdict = verdictOf(status);
    if (verdict === 'taken') {
      await turns.markSent(db, row, turn.id);
      return verdict;
    }
    asking.log.warn({ replicaId: row.id, messageId: turn.id, status, tries }, 'chat.turn_not_taken');
    if (verdict === 'later' && retryDelayMs(tries) !== null) return verdict;
    const said = reason === null ? '' : ` It says: ${reason}`;
    const error = `The engine did not take the message (it answered ${status}); send it again.${said}`;
    await end(row, turn.id, { state: 'failed', error });
    return 'refused';
  }

  /** Those who watch are told once why nothing happens. */
  async function announceInstalling(row: Addressee, turn: TurnToSend): Promise<void> {
    const { id, chat_id: chatId, provider } = turn;
    if (announced.has(id)) return;
    if (announced.size >= MAX_ANNOUNCED) announced.clear();
    announced.add(id);
    const text = `${provider} is being installed on this machine, which happens once and takes a minute or so.`;
    const payload = { chatId, event: { type: 'notice', text } };
    await transact(db, async (tx) => {
      await replicas.lock(tx, row.id);
      await replicas.emit(tx, row.id, [{ type: 'chat.turn.delta', payload }]);
    });
  }

  /** What the engine has is ended by the engine, and reported by it; what it does not know ends here. */
  async function interrupt(row: Addressee, turn: TurnToSend, asking: Asking): Promise<Verdict> {
    const isInterrupted = await engine.interrupt(row, turn.id, asking);
    if (isInterrupted === null) return 'later';
    if (isInterrupted) return 'taken';
    const info = await engine.inspect(row, asking);
    if (!info) return 'later';
    // Its agent is done, and its end is about to be reported.
    if (info.turns?.includes(turn.id)) return 'taken';
    // What the engine said of its end may be on its way, and then counts.
    await engine.flush(row, asking);
    await end(row, turn.id, INTERRUPTED);
    return 'taken';
  }

  async function end(row: Addressee, messageId: string, outcome: Outcome): Promise<void> {
    announced.delete(messageId);
    await transact(db, async (tx) => {
      const held = await replicas.lock(tx, row.id);
      const turn = await turns.find(tx, { replicaId: row.id, id: messageId });
      if (held && turn?.state === 'running') await turns.finish(tx, held, turn, outcome);
    });
  }

  return {
    begin,
    bring,
    interrupt,
    /**
     * Lets what concerns one replica come one after the other. An interrupt that overtook the message it is for would
     * find nothing to interrupt, and the message would be sent after its end.
     */
    inLane,
    /** Breaks off what is under way; jobs of the next process do it. */
    async close(): Promise<void> {
      closing.abort(new Error('The service stops.'));
      await Promise.all(underWay);
    },
  };
}

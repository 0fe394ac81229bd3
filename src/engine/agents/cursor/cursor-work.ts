import { orAbort } from '../../or-abort.ts';
import { AgentFailure, type AgentTurn, agentDied, type JsonObject } from '../agent.ts';
import type { AgentProcess } from '../agent-process.ts';
import { cursorFailure } from './cursor-failure.ts';
import type { CursorOrder, CursorReport } from './cursor-runner.ts';
import { followCursor } from './cursor-turn.ts';

export type CursorWork = {
  /** Works on one message at a time. */
  run(turn: AgentTurn): Promise<void>;
  /** Takes what the runner says; between turns nobody listens. */
  hear(report: CursorReport): Promise<void>;
  /** Resolves when nothing is being worked on. */
  idle(): Promise<void>;
};

type Ended = Extract<CursorReport, { report: 'ended' }>;

export function createCursorWork(agent: Pick<AgentProcess, 'send' | 'ended' | 'close'>): CursorWork {
  let listen: ((report: CursorReport) => Promise<void>) | null = null;
  let running = Promise.resolve();

  /**
   * Cursor keeps what it has done so far. The runner is ended in any case: among what is killed after an interruption may
   * be MCP servers of the repository, which the SDK does not start anew.
   */
  async function interrupt(ended: Promise<Ended>): Promise<void> {
    agent.send({ order: 'cancel' } satisfies CursorOrder);
    const isOver = Promise.race([ended, agent.ended]);
    await orAbort(isOver, AbortSignal.timeout(INTERRUPTION_MS)).catch(() => {});
    await agent.close();
  }

  async function failWhenEnded(): Promise<never> {
    await agent.ended;
    throw agentDied();
  }

  async function work(turn: AgentTurn): Promise<void> {
    turn.signal.throwIfAborted();
    const followed = followCursor(turn);
    const { promise: ended, resolve, reject } = Promise.withResolvers<Ended>();
    // Whoever does not wait for it any more must not be hit by it.
    ended.catch(() => {});
    listen = async (report) => {
      if (report.report === 'ended') return resolve(report);
      if (report.report === 'notice') await turn.delta({ type: 'notice', text: report.text }).catch(reject);
      if (report.report === 'said') await followed.hear(report.message as JsonObject).catch(reject);
    };
    try {
      agent.send(toOrder(turn));
      const { status, error } = await orAbort(Promise.race([ended, failWhenEnded()]), turn.signal);
      if (status === 'finished') return await followed.finish();
      await followed.settle();
      await turn.message('cursor-error', error);
      throw status === 'error' ? cursorFailure(error) : new AgentFailure('Cursor has cancelled its work.');
    } catch (error) {
      if (turn.signal.aborted) await interrupt(ended);
      await followed.settle();
      throw error;
    } finally {
      listen = null;
    }
  }

  return {
    run(turn) {
      const run = work(turn);
      running = run.catch(() => {});
      return run;
    },
    hear: async (report) => listen?.(report),
    idle: () => running,
  };
}

const INTERRUPTION_MS = 4_000;

function toOrder({ request }: AgentTurn): JsonObject {
  const { message: text, images, model, thinkingLevel, fastMode, planMode } = request;
  return {
    order: 'work',
    text,
    images: images.map(({ mediaType, dataBase64 }) => ({ data: dataBase64, mimeType: mediaType })),
    model,
    thinkingLevel,
    fastMode,
    planMode,
  } satisfies CursorOrder;
}

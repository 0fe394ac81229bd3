import path from 'node:path';
import { expect, vi } from 'vitest';
import type { TurnFailureKind } from '../../src/engine/protocol.ts';
import type { Chat } from './agent-stage.ts';
import type { AgentCase } from './agent-under-test.ts';
import { lastRequest, said, waitForDelta, waitForFile } from './observe.ts';

/** What agents do when they are interrupted, refused or killed. */
export const troubleCases: AgentCase[] = [
  {
    feature: 'interrupt',
    name: 'stops a tool with all that it has started, and the conversation goes on',
    async run(stage, agent) {
      const { chat } = stage;
      await chat.run([{ text: 'The first answer.' }]);
      const before = chat.processes();
      const turn = chat.start([
        { shell: 'setsid sleep 1000 & touch sleeping; sleep 1000' },
        { text: 'never' },
      ]);
      await waitForFile(path.join(stage.folder, 'sleeping'));
      turn.interrupt();
      expect(await turn.ended).toMatchObject({ outcome: 'interrupted', error: null });
      expect(chat.processes().filter((pid) => !before.includes(pid))).toEqual([]);
      const next = await chat.run([{ text: 'Here I am again.' }]);
      expect(said(next)).toBe('Here I am again.');
      expect(JSON.stringify(lastRequest(stage, agent))).toContain('The first answer.');
    },
  },
  {
    feature: 'interrupt',
    name: 'stops in the middle of what it says, and before it has said anything',
    async run(stage) {
      const { chat } = stage;
      const talking = chat.start([{ slow: 500, delay: 50, text: 'word ' }]);
      await waitForDelta(talking, 'text');
      talking.interrupt();
      expect(await talking.ended).toMatchObject({ outcome: 'interrupted' });
      const early = chat.start([{ hang: 60_000, text: 'late' }]);
      early.interrupt();
      expect(await early.ended).toMatchObject({ outcome: 'interrupted' });
      expect(said(await chat.run([{ text: 'next' }]))).toBe('next');
    },
  },
  {
    feature: 'failures',
    name: 'tells apart why the model did not answer',
    async run(stage) {
      const inTurn = async (chat: Chat, statuses: (keyof typeof failures)[]) => {
        for (const status of statuses) {
          const error = { status, type: 'some_error', message: `No, says ${status}.` };
          const { outcome, failure, error: sentence } = await chat.run([{ error }]);
          ends.push({ status, outcome, failure, sentence });
        }
      };
      const ends: object[] = [];
      // Beside each other, because what an agent tries again takes seconds.
      await Promise.all([
        inTurn(stage.chat, [400, 401]),
        inTurn(stage.openChat(), [402, 429]),
        inTurn(stage.openChat(), [404, 500]),
      ]);
      expect(ends).toHaveLength(Object.keys(failures).length);
      for (const [status, failure] of Object.entries(failures))
        expect(ends).toContainEqual({
          status: Number(status),
          outcome: 'failed',
          failure,
          sentence: expect.stringMatching(status === '400' ? /No, says 400\./ : /It says: ./),
        });
    },
  },
  {
    feature: 'failures',
    name: 'goes on with the conversation after a failure',
    async run(stage) {
      const { chat } = stage;
      const failed = await chat.run([{ error: { status: 400, message: 'No.' } }]);
      expect(failed).toMatchObject({ outcome: 'failed', failure: 'model_refused' });
      expect(said(await chat.run([{ text: 'Better now.' }]))).toBe('Better now.');
    },
  },
  {
    feature: 'death',
    name: 'fails the turn once when it is killed, and the next goes on with the conversation',
    async run(stage, agent) {
      const chat = stage.openChat();
      await chat.run([{ text: 'Remember the marmot.' }]);
      const pids = chat.processes();
      const turn = chat.start([{ shell: 'touch killing; sleep 1000' }, { text: 'never' }]);
      await waitForFile(path.join(stage.folder, 'killing'));
      for (const pid of pids) kill(pid);
      expect(await turn.ended).toMatchObject({ outcome: 'failed', failure: 'agent_died' });
      await vi.waitFor(() => expect(chat.processes()).toEqual([]), { timeout: 10_000 });
      expect(said(await chat.run([{ text: 'Still here.' }]))).toBe('Still here.');
      expect(JSON.stringify(lastRequest(stage, agent))).toContain('Remember the marmot.');
    },
  },
  {
    feature: 'resume',
    name: 'goes on with the conversation after a new start of the engine',
    async run(stage, agent) {
      const { chat } = stage;
      await chat.run([{ text: 'Remember the badger.' }]);
      await stage.restart();
      expect(chat.processes()).toEqual([]);
      const turn = await chat.run([{ text: 'Back again.' }]);
      expect(said(turn)).toBe('Back again.');
      expect(turn.deltas.filter(({ type }) => type === 'notice')).toEqual([]);
      expect(JSON.stringify(lastRequest(stage, agent))).toContain('Remember the badger.');
    },
  },
  {
    feature: 'lost',
    name: 'begins anew, and says so, when the conversation is not on the disk any more',
    async run(stage, agent) {
      const { chat } = stage;
      await chat.run([{ text: 'Forget the weasel.' }]);
      await stage.restart();
      agent.forget(stage.home);
      const turn = await chat.run([{ text: 'Who are you?' }]);
      expect(turn).toMatchObject({ outcome: 'completed' });
      expect(turn.deltas).toContainEqual({ type: 'notice', text: expect.stringMatching(/not on the disk/) });
      expect(JSON.stringify(lastRequest(stage, agent))).not.toContain('Forget the weasel.');
    },
  },
];

const failures = {
  400: 'model_refused',
  401: 'model_unauthorized',
  402: 'budget_reached',
  404: 'model_refused',
  429: 'model_overloaded',
  500: 'model_unreachable',
} as const satisfies Record<number, TurnFailureKind>;

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended with another.
  }
}

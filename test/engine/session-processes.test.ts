import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { AgentFailure, type AgentSession, type SessionSpec } from '../../src/engine/agents/agent.ts';
import { listMarked, TREE_VARIABLE } from '../../src/engine/process-tree.ts';
import { chatId, message, openPlace } from './agent-place.ts';

describe('processes of an agent', () => {
  type Child = ChildProcess & { pid: number };

  /** An agent with a process, a server of its own, and turns that start more. */
  function processes() {
    const children: Child[] = [];
    const start = (environment: Record<string, string>): Child => {
      const child = spawn('sleep', ['1000'], {
        env: { ...process.env, ...environment },
        detached: true,
      }) as Child;
      children.push(child);
      return child;
    };
    onTestFinished(() => {
      for (const { pid } of children) kill(pid);
    });
    const open = async ({ environment }: SessionSpec): Promise<Partial<AgentSession>> => {
      const main = start(environment);
      start(environment);
      return {
        pid: main.pid,
        ended: once(main, 'exit').then(() => {}),
        async work({ request, signal }) {
          start(environment);
          if (request.message === 'wait') await once(signal, 'abort');
          if (request.message === 'hang') await new Promise(() => {});
        },
        close: async () => kill(main.pid),
      };
    };
    return { children, open };
  }

  const isAlive = ({ exitCode, signalCode }: Child) => exitCode === null && signalCode === null;
  const states = (children: Child[]) => children.map(isAlive);
  const settled = (children: Child[], expected: boolean[]) =>
    vi.waitFor(() => expect(states(children)).toEqual(expected), { timeout: 5_000, interval: 10 });

  test('that an interrupted turn has started are killed, and no others', async () => {
    const { children, open } = processes();
    const { work } = await openPlace({ open });
    await work(message());
    const interruption = new AbortController();
    const turn = work(message({ message: 'wait' }), interruption.signal);
    await vi.waitFor(() => expect(children).toHaveLength(4), { timeout: 5_000, interval: 5 });
    interruption.abort();
    await turn;
    await settled(children, [true, true, true, false]);
  });

  test('that an interrupted first turn finds are those that the agent has for itself', async () => {
    const { children, open } = processes();
    const { work } = await openPlace({ open });
    const interruption = new AbortController();
    const turn = work(message({ message: 'wait' }), interruption.signal);
    await vi.waitFor(() => expect(children).toHaveLength(3), { timeout: 5_000, interval: 5 });
    interruption.abort();
    await turn;
    await settled(children, [true, true, false]);
  });

  test('that the turn of a dying agent has started are killed, and the next message finds a new one', async () => {
    const { children, open } = processes();
    const { work, opened } = await openPlace({ open });
    const turn = work(message({ message: 'hang' }));
    await vi.waitFor(() => expect(children).toHaveLength(3), { timeout: 5_000, interval: 5 });
    kill(children[0]?.pid ?? 0);
    await expect(turn).rejects.toMatchObject({ kind: 'agent_died' });
    await settled(children, [false, true, false]);
    await work(message());
    expect(opened.map(({ resume }) => resume)).toEqual([null, 'conversation-1']);
    await settled(children, [false, false, false, true, true, true]);
  });

  test('that were started by an agent that cannot be opened are killed, and no others', async () => {
    const { children, open } = processes();
    let isBroken = false;
    const { work, restart } = await openPlace({
      async open(spec) {
        const session = await open(spec);
        if (isBroken) throw new AgentFailure('It does not start.');
        return session;
      },
    });
    await work(message());
    await restart();
    isBroken = true;
    await expect(work(message())).rejects.toThrow('It does not start.');
    await settled(children, [false, false, true, false, false]);
  });

  test('of a turn are not touched by one before it that was given up and ends late', async () => {
    const { children, open } = processes();
    const gate = Promise.withResolvers<void>();
    const { work, sessions } = await openPlace({
      async open(spec) {
        const session = await open(spec);
        // It does not even notice that its process has ended.
        const late = { ...session, ended: new Promise<void>(() => {}), work: () => gate.promise };
        return spec.request.message === 'late' ? late : session;
      },
    });
    const interruption = new AbortController();
    const late = work(message({ message: 'late' }), interruption.signal);
    await vi.waitFor(() => expect(children).toHaveLength(2), { timeout: 5_000, interval: 5 });
    interruption.abort();
    await sessions().end(chatId);
    await settled(children, [false, false]);
    await work(message());
    gate.resolve();
    await late;
    await settled(children, [false, false, true, true, true]);
  });

  test('that the agent has for itself end with it, and what turns have left goes on', async () => {
    const { children, open } = processes();
    const { work, restart } = await openPlace({ open });
    await work(message());
    await restart();
    await settled(children, [false, false, true]);
  });

  test('that a server of the agent has started later end with it', async () => {
    const spawned: number[] = [];
    onTestFinished(() => {
      for (const pid of spawned) kill(pid);
    });
    const { work, restart } = await openPlace({
      async open({ environment }) {
        const script = 'read line; sleep 1000 & echo $!; wait';
        const server = spawn('sh', ['-c', script], { env: { ...process.env, ...environment } });
        spawned.push(server.pid as number);
        return {
          async work() {
            const said = once(server.stdout, 'data') as Promise<[Buffer]>;
            server.stdin.write('now\n');
            spawned.push(Number((await said)[0]));
          },
        };
      },
    });
    await work(message());
    expect(spawned.map((pid) => existsSync(`/proc/${pid}`))).toEqual([true, true]);
    await restart();
    await vi.waitFor(() => expect(spawned.map((pid) => existsSync(`/proc/${pid}`))).toEqual([false, false]), {
      timeout: 5_000,
      interval: 10,
    });
  });

  test('all end with the chat', async () => {
    const { children, open } = processes();
    const { work, sessions } = await openPlace({ open });
    await work(message());
    await sessions().end(chatId);
    await settled(children, [false, false, false]);
    expect(listMarked({ variable: TREE_VARIABLE, value: `agent-${chatId}` })).toEqual([]);
  });

  function kill(pid: number): void {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
  }
});

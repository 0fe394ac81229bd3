import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Agent, AgentFailure, type AgentSession } from '../../src/engine/agents/agent.ts';
import { createCanvas } from '../../src/engine/canvas.ts';
import type { EngineReport, TurnRequest } from '../../src/engine/protocol.ts';
import { createRepositories } from '../../src/engine/repositories.ts';
import { createTurns } from '../../src/engine/turns.ts';
import { startGitHost } from '../world/git-host.ts';
import { turnRequest } from './turn-request.ts';
import { openWorkshop } from './workshop.ts';

type Stage = Awaited<ReturnType<typeof openStage>>;

async function openStage(options: { agent?: Agent; capture?: () => Promise<never> } = {}) {
  const workshop = await openWorkshop();
  const { context } = workshop;
  const repositories = createRepositories(context);
  const canvas = createCanvas(context);
  const parts = { repositories: options.capture ? { capture: options.capture } : repositories, canvas };
  const agents = options.agent ? { agents: { scripted: options.agent } } : {};
  const open = () => createTurns({ context, ...parts, ...agents });
  const turns = open();
  onTestFinished(async () => {
    await turns.closeAll();
    canvas.close();
    await workshop.close();
  });
  return { workshop, repositories, turns, open };
}

function request(message: string | object[], chatId: string = randomUUID()): TurnRequest {
  const text = typeof message === 'string' ? message : `SCRIPT:${JSON.stringify(message)}`;
  return turnRequest({ chatId, message: text });
}

/** An agent without a process that does this with each message. */
function agentThat(work: AgentSession['work']): Agent {
  return {
    name: 'scripted',
    open: async ({ chatId }) => ({
      id: chatId,
      fits: () => true,
      work,
      commands: [],
      pid: null,
      ended: new Promise<void>(() => {}),
      close: async () => {},
    }),
  };
}

const ofTurn = (reports: EngineReport[], id: string) =>
  reports.filter(({ payload }) => 'turnId' in payload && payload.turnId === id);

async function finished({ workshop }: Stage, { id }: TurnRequest) {
  const find = () => ofTurn(workshop.reports, id).find((report) => report.type === 'turn.finished')?.payload;
  await vi.waitFor(() => expect(find()).toBeDefined(), { timeout: 10_000, interval: 10 });
  return find();
}

function messages({ workshop }: Stage, { id }: TurnRequest) {
  return ofTurn(workshop.reports, id).flatMap((report) =>
    report.type === 'turn.message' ? [[report.payload.type, report.payload.payload]] : [],
  );
}

const waitForFile = (file: string) =>
  vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 10_000, interval: 10 });

describe('a turn of the scripted agent', () => {
  test('is reported from its start to its end, with messages in order', async () => {
    const stage = await openStage();
    const turn = request([
      { say: 'Hello, wörld 👍!' },
      { write: { path: 'a/b.txt', content: 'written' } },
      { run: 'cat a/b.txt; echo oops >&2; exit 3' },
      { canvas: { name: 'plan.md', content: '# plan' } },
      { sleepMs: 1 },
    ]);
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({ outcome: 'completed', error: null });
    const { reports, gateway } = stage.workshop;
    expect(messages(stage, turn)).toEqual([
      ['scripted-assistant', { text: 'Hello, wörld 👍!' }],
      ['scripted-tool', { tool: 'write', path: 'a/b.txt' }],
      [
        'scripted-tool',
        expect.objectContaining({ exitCode: 3, output: 'writtenoops\n', isOutputCut: false }),
      ],
      ['scripted-tool', { tool: 'canvas', name: 'plan.md' }],
      ['scripted-result', { outcome: 'completed' }],
    ]);
    const types = reports.map(({ type }) => type);
    expect(types.indexOf('turn.started')).toBe(0);
    expect(types.slice(-2)).toEqual(['repositories.changed', 'turn.finished']);
    const pieces = reports.flatMap((report) =>
      report.type === 'turn.delta' ? [report.payload.event.text ?? ''] : [],
    );
    expect(pieces.join('')).toBe('Hello, wörld 👍!');
    expect(pieces.length).toBeGreaterThan(2);
    expect(gateway.canvas.get('plan.md')?.body?.toString()).toBe('# plan');
  });

  test('without a script makes a small change in the first repository and says so', async () => {
    const host = await startGitHost();
    onTestFinished(() => host.close());
    await host.createRepository('app', { 'README.md': 'hello\n' });
    const stage = await openStage();
    const repository = stage.workshop.bind({ name: 'app', url: host.url('app') });
    await stage.repositories.prepare(repository, AbortSignal.timeout(20_000));
    const turn = request('Please write this down.');
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({ outcome: 'completed' });
    const changed = stage.workshop.reports.find((report) => report.type === 'repositories.changed');
    expect(changed?.payload).toMatchObject({ repositories: [{ id: repository.id, added: 1 }] });
    expect(stage.workshop.gateway.shadows.has(repository.id)).toBe(true);
    expect(messages(stage, turn).map(([type]) => type)).toEqual([
      'scripted-tool',
      'scripted-assistant',
      'scripted-result',
    ]);
  });

  test.each([
    ['a step that says so', [{ fail: 'The tests do not pass.' }], 'The tests do not pass.'],
    ['a path outside of home', [{ write: { path: '/etc/passwd', content: '' } }], /is not below the home/],
    ['an unknown step', [{ dance: true }], /Step 1 of the script/],
  ])('fails with a sentence after %s', async (_name, steps, error) => {
    const stage = await openStage();
    const turn = request(steps);
    await stage.turns.start(turn);
    const end = await finished(stage, turn);
    expect(end).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(error),
      failure: 'agent_failed',
    });
  });

  test('that is interrupted ends with everything its command has started', async () => {
    const stage = await openStage();
    const pidFile = join(stage.workshop.home, 'pid');
    const turn = request([
      {
        run: `setsid sh -c 'echo $$ > ${pidFile}.tmp; mv ${pidFile}.tmp ${pidFile}; exec sleep 1000' & wait`,
      },
      { say: 'never' },
    ]);
    await stage.turns.start(turn);
    await waitForFile(pidFile);
    expect(await stage.turns.interrupt(turn.id)).toBe(true);
    expect(await finished(stage, turn)).toMatchObject({ outcome: 'interrupted', error: null });
    expect(existsSync(`/proc/${readFileSync(pidFile, 'utf8').trim()}/cwd`)).toBe(false);
    expect(messages(stage, turn).at(-1)).toEqual(['scripted-result', { outcome: 'interrupted' }]);
    expect(await stage.turns.interrupt(turn.id)).toBe(false);
  });
});

describe('turns', () => {
  test('run one at a time in a chat and beside each other in different chats', async () => {
    const stage = await openStage();
    const { turns, workshop } = stage;
    const gate = join(workshop.home, 'gate');
    const wait = [{ run: `touch ${gate}-$RANDOM; while [ ! -e ${gate} ]; do sleep 0.02; done` }];
    const first = request(wait);
    const other = request(wait);
    await Promise.all([turns.start(first), turns.start(other)]);
    await expect(turns.start(request('more', first.chatId))).rejects.toMatchObject({ status: 409 });
    await turns.start(first);
    mkdirSync(gate);
    await Promise.all([finished(stage, first), finished(stage, other)]);
    const next = request([{ say: 'next' }], first.chatId);
    await vi.waitFor(() => turns.start(next), { timeout: 5_000, interval: 10 });
    await finished(stage, next);
  });

  test('are listed from their start until their end is reported, also by a later engine', async () => {
    const stage = await openStage();
    const gate = join(stage.workshop.home, 'gate');
    const turn = request([{ run: `while [ ! -e ${gate} ]; do sleep 0.02; done` }]);
    await stage.turns.start(turn);
    expect(stage.turns.inWork()).toEqual([turn.id]);
    const later = stage.open();
    expect(later.inWork()).toEqual([turn.id]);
    await later.recover();
    expect(later.inWork()).toEqual([]);
    mkdirSync(gate);
    await vi.waitFor(() => expect(stage.turns.inWork()).toEqual([]), { timeout: 10_000, interval: 10 });
    expect(await finished(stage, turn)).toBeDefined();
  });

  test('are run once however often they are asked for, also by a later engine', async () => {
    const stage = await openStage();
    const turn = request([{ run: 'echo ran >> count' }]);
    await Promise.all([stage.turns.start(turn), stage.turns.start(turn)]);
    await finished(stage, turn);
    await stage.turns.start(turn);
    await stage.turns.closeAll();
    const later = stage.open();
    await later.recover();
    await later.start(turn);
    expect(readFileSync(join(stage.workshop.home, 'workspaces/count'), 'utf8')).toBe('ran\n');
    expect(
      ofTurn(stage.workshop.reports, turn.id).filter(({ type }) => type === 'turn.finished'),
    ).toHaveLength(1);
  });

  test('that were interrupted before they came are interrupted when they come', async () => {
    const stage = await openStage();
    const turn = request([{ run: 'echo ran > ran' }]);
    expect(await stage.turns.interrupt(turn.id)).toBe(false);
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({ outcome: 'interrupted', error: null });
    expect(existsSync(join(stage.workshop.home, 'workspaces/ran'))).toBe(false);
    const next = request([{ run: 'echo ran > ran' }], turn.chatId);
    await vi.waitFor(() => stage.turns.start(next), { timeout: 5_000, interval: 10 });
    expect(await finished(stage, next)).toMatchObject({ outcome: 'completed' });
  });

  test('end with their chat, whose agent and files are forgotten', async () => {
    const forgotten: string[] = [];
    const begun = Promise.withResolvers<void>();
    const waiting = agentThat(async ({ signal }) => {
      begun.resolve();
      await once(signal, 'abort');
    });
    const agent: Agent = { ...waiting, forget: (_home, chatId) => void forgotten.push(chatId) };
    const stage = await openStage({ agent });
    const turn = request('wait');
    await stage.turns.start(turn);
    await begun.promise;
    await stage.turns.forgetChat(turn.chatId);
    expect(await finished(stage, turn)).toMatchObject({ outcome: 'interrupted' });
    await vi.waitFor(() => expect(forgotten).toEqual([turn.chatId]), { timeout: 5_000, interval: 10 });
    await stage.turns.forgetChat(turn.chatId);
    expect(forgotten).toEqual([turn.chatId, turn.chatId]);
    const file = join(stage.workshop.home, `.replica/engine/conversations/${turn.chatId}.json`);
    expect(existsSync(file)).toBe(false);
  });

  test('fail with sentences that hold no secret', async () => {
    const { secret } = (await openStage()).workshop.context;
    const agent = agentThat(async () => {
      throw new AgentFailure(`No answer with the key key-of-cursor from http://replica:${secret}@127.0.0.1.`);
    });
    const stage = await openStage({ agent });
    const turn = { ...request('x'), credential: 'key-of-cursor' };
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({
      error: 'No answer with the key [secret] from http://replica:[secret]@127.0.0.1.',
    });
  });

  test('are not failed by work that cannot be copied out', async () => {
    const stage = await openStage({ capture: () => Promise.reject(new Error('no')) });
    const turn = request([{ say: 'done' }]);
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({ outcome: 'completed' });
  });

  test('of an agent that breaks are failed without its inner words, and large messages are shortened', async () => {
    const agent = agentThat(async ({ message }) => {
      // Not waited for on purpose: what was said before the end is reported before the end.
      message('scripted-assistant', { text: 'x'.repeat(4_000_000) });
      throw new TypeError('secret detail');
    });
    const stage = await openStage({ agent });
    const turn = request('x');
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({
      outcome: 'failed',
      error: expect.not.stringMatching('secret'),
    });
    expect(JSON.stringify(messages(stage, turn)).length).toBeLessThan(200_000);
  });

  test.each([
    ['says nothing for too long', { isTalkative: false, silenceMs: 50 }, /said nothing for/],
    ['takes too long in all', { isTalkative: true, durationMs: 200, silenceMs: 100 }, /the most it may take/],
  ])('of an agent that %s are ended and failed', async (_name, { isTalkative, ...bounds }, error) => {
    const agent = agentThat(async ({ signal, delta }) => {
      while (isTalkative && !signal.aborted) {
        await delta({ type: 'text', text: 'x' });
        await delay(5);
      }
      if (!signal.aborted) await once(signal, 'abort');
    });
    const stage = await openStage({ agent });
    const turn = { ...request('x'), ...bounds };
    await stage.turns.start(turn);
    expect(await finished(stage, turn)).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(error),
      failure: 'timed_out',
    });
  });

  test('of an unknown agent are refused', async () => {
    const { turns } = await openStage();
    const turn = { ...request('x'), agent: 'toString' as 'scripted' };
    await expect(turns.start(turn)).rejects.toMatchObject({ status: 400 });
  });
});

describe('an engine that is killed', () => {
  function openHome() {
    const home = mkdtempSync(join(tmpdir(), 'turns-'));
    const children = new Set<ChildProcess>();
    onTestFinished(() => {
      for (const child of children) child.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    });
    const read = (name: string) =>
      existsSync(join(home, name)) ? readFileSync(join(home, name), 'utf8').trim().split('\n') : [];
    return {
      home,
      start(turns: TurnRequest[]): ChildProcess {
        const args = [join(import.meta.dirname, 'turns-process.ts'), home, JSON.stringify(turns)];
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        children.add(child);
        return child;
      },
      reports: () => read('reports').map((line) => JSON.parse(line) as EngineReport),
      runs: () => read('workspaces/runs').filter((line) => line !== ''),
    };
  }

  async function kill(child: ChildProcess): Promise<void> {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  test('reports the turn as failed once, and never runs it again', async () => {
    const { home, start, reports, runs } = openHome();
    const turn = request([{ run: 'echo ran >> runs; sleep 1000 & echo $! > pid; wait' }]);
    const first = start([turn]);
    await waitForFile(join(home, 'workspaces/pid'));
    await kill(first);
    process.kill(Number(readFileSync(join(home, 'workspaces/pid'), 'utf8')), 'SIGKILL');
    for (let round = 0; round < 2; round += 1) {
      const next = start([turn]);
      await once(next.stdout ?? next, 'data');
      await kill(next);
    }
    const ends = reports().filter(({ type }) => type === 'turn.finished');
    expect(ends.map(({ payload }) => payload)).toEqual([
      {
        turnId: turn.id,
        chatId: turn.chatId,
        outcome: 'failed',
        error: 'The workspace stopped while the agent was working on this message.',
        failure: 'stopped',
      },
    ]);
    expect(runs()).toEqual(['ran']);
  });

  test('at any moment neither loses nor repeats a turn', async () => {
    const { start, reports, runs } = openHome();
    const turns = Array.from({ length: 6 }, (_, index) =>
      request([{ run: `echo ${index} >> runs` }, { say: 'x' }]),
    );
    for (const [index] of turns.entries()) {
      const child = start(turns.slice(0, index + 1));
      await once(child.stdout ?? child, 'data');
      // The turn is under way; each round kills it a little later.
      await delay(index * 4);
      await kill(child);
    }
    const last = start(turns);
    await once(last.stdout ?? last, 'data');
    const ends = () => reports().filter(({ type }) => type === 'turn.finished');
    const distinct = () => new Set(ends().map(({ payload }) => JSON.stringify(payload)));
    await vi.waitFor(() => expect(distinct().size).toBe(turns.length), { timeout: 5_000, interval: 20 });
    expect(new Set(runs()).size).toBe(runs().length);
  });
});

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { processesOfChat } from '../test/world/live.ts';
import { type BenchedAgent, startByHand } from './agent-by-hand.ts';
import type { LiveService } from './live-service.ts';
import { pssMiB } from './processes.ts';
import { progress } from './progress.ts';
import type { RecordingModel } from './recording-model.ts';
import { type Frame, wallMs } from './replica-events.ts';
import { describeMs, formatMs, median } from './samples.ts';
import type { TableRow } from './table.ts';
import { until } from './until.ts';

export type AgentBench = {
  live: LiveService;
  model: RecordingModel;
  /** Messages of each kind, and wakes. */
  scale: { messages: number; wakes: number };
  signal: AbortSignal;
};

type Timed = { promptMs: number; textMs: number };

const SHARES = [0.5, 0.95];
const WITHIN_MS = 120_000;
/** An agent's first messages take longer, in the service as by hand. */
const WARM_UP = 2;
const REST_MS = 500;
const BY_HAND =
  'By hand means the same program, started in the same way on this machine, told by us and speaking to the model itself;\nits messages and those through the service take turns, each after the same rest.';

const isText = ({ event, data }: Frame) => event === 'chat.turn.delta' && data.includes('"type":"text"');
const isOver = ({ event }: Frame) => event === 'chat.turn.completed';

/** What the service adds to an agent, and what an agent costs. It leaves no replica behind. */
export async function measureAgent(agent: BenchedAgent, bench: AgentBench): Promise<TableRow[]> {
  const { live, model, scale, signal } = bench;
  progress(`${agent}: ${scale.messages} messages, ${scale.wakes} wakes`);
  const { replicaId, chatId } = await createReplica(agent, bench);
  const call = { params: { id: replicaId } };
  await using events = await live.openEvents(replicaId);
  await using byHand = await startByHand(agent, {
    modelUrl: model.url,
    repositoryUrl: live.repositoryUrl,
    signal,
  });

  async function timeMessage(): Promise<Timed> {
    const { words, message } = compose();
    const coming = Promise.all([
      model.seen(words, WITHIN_MS),
      events.next(isText, WITHIN_MS),
      events.next(isOver, WITHIN_MS),
    ]);
    const began = wallMs();
    const [[promptAt, text]] = await Promise.all([
      coming,
      live.client.sendMessage({ ...call, body: { message, chat_id: chatId } }, { signal }),
    ]);
    return { promptMs: promptAt - began, textMs: text.atMs - began };
  }
  async function timeByHand(): Promise<number> {
    const { words, message } = compose();
    const seen = model.seen(words, WITHIN_MS);
    const began = wallMs();
    const [promptAt] = await Promise.all([seen, byHand.say(message)]);
    return promptAt - began;
  }

  /** Programs go on for a while after they have said that they are done, and would take that from whoever comes next. */
  async function rest(): Promise<void> {
    await live.untilQuiet();
    await delay(REST_MS, undefined, { signal });
  }

  const through: Timed[] = [];
  const direct: number[] = [];
  for (let round = 0; round < WARM_UP + scale.messages; round++) {
    await rest();
    through.push(await timeMessage());
    await rest();
    direct.push(await timeByHand());
  }
  const memoryMiB = processesOfChat(chatId).reduce((total, pid) => total + pssMiB(pid), 0);
  const wakes: number[] = [];
  for (let round = 0; round < scale.wakes; round++) {
    await live.client.sleepReplica(call, { signal });
    await live.untilAsleep(replicaId);
    await live.untilQuiet();
    wakes.push((await timeMessage()).textMs);
  }
  await live.remove([replicaId]);

  const prompts = through.slice(WARM_UP).map(({ promptMs }) => promptMs);
  const texts = through.slice(WARM_UP).map(({ textMs }) => textMs);
  const alone = direct.slice(WARM_UP);
  return [
    { what: `${agent}: message → prompt at the model, p50 / p95`, measured: describeMs(prompts, SHARES) },
    { what: '  driven by hand, p50 / p95', measured: describeMs(alone, SHARES), note: BY_HAND },
    {
      what: '  difference of the medians',
      goal: '< 25 ms',
      measured: `${formatMs(median(prompts) - median(alone))} ms`,
    },
    { what: '  message → first text at a reader, p50 / p95', measured: describeMs(texts, SHARES) },
    {
      what: '  message to a sleeping replica → first text, p50 / p95',
      measured: describeMs(wakes, SHARES),
    },
    { what: '  resident agent, PSS', measured: `${memoryMiB.toFixed(0)} MiB` },
  ];
}

/** A message that the model answers with a word, and words by which the prompt is known. */
function compose(): { words: string; message: string } {
  const words = randomUUID();
  return { words, message: `Message ${words}. SCRIPT:[{"text":"Yes."}]` };
}

/** A replica whose agent has done its first turn. */
async function createReplica(
  coding_agent: BenchedAgent,
  { live, signal }: AgentBench,
): Promise<{ replicaId: string; chatId: string }> {
  const body = { name: 'bench', environment_id: live.environmentId, coding_agent, ...compose() };
  const { replica } = await live.client.createReplica({ body }, { signal });
  if (replica.status !== 'active') throw new Error(`the replica became ${replica.status}`);
  const call = { params: { id: replica.id } };
  let chatId = '';
  const isDone = async () => {
    const [{ chats }, { total }] = await Promise.all([
      live.client.listChats(call, { signal }),
      live.client.getHistory(call, { signal }),
    ]);
    chatId = chats[0]?.id ?? '';
    // Before its turn the message stands alone in the history, and the chat is as idle as after it.
    return total > 1 && chats[0]?.processing === false;
  };
  await until(isDone, { signal, what: 'the first turn is over', timeoutMs: WITHIN_MS });
  return { replicaId: replica.id, chatId };
}

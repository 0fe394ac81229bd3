import { NO_WORK } from './live-service.ts';
import { progress } from './progress.ts';
import type { BenchPart } from './replica-bench.ts';
import { type Frame, wallMs } from './replica-events.ts';
import { describeMs } from './samples.ts';
import { timeCreate } from './timed-create.ts';

const SHARES = [0.5, 0.95];
const WITHIN_MS = 60_000;

const isActive = ({ event, data }: Frame) =>
  event === 'replica.status.changed' && data.includes('"status":"active"');
const hasBegun = ({ event }: Frame) => event === 'chat.turn.started';
const isOver = ({ event }: Frame) => event === 'chat.turn.completed';

/** Each time is from before the request to the event in a stream that was open all the while. */
export const measureWakes: BenchPart = async ({ live, scale, signal }) => {
  progress(`wakes: ${scale.samples} by request, ${scale.samples} by message`);
  const { replicaId } = await timeCreate(live, signal);
  await live.untilQuiet();
  const call = { params: { id: replicaId } };
  await using events = await live.openEvents(replicaId);

  async function timeUntil(isWanted: (frame: Frame) => boolean, request: () => Promise<unknown>) {
    const coming = events.next(isWanted, WITHIN_MS);
    const began = wallMs();
    const [{ atMs }] = await Promise.all([coming, request()]);
    return atMs - began;
  }
  async function timeMessage(): Promise<number> {
    const over = events.next(isOver, WITHIN_MS);
    const [ms] = await Promise.all([
      timeUntil(hasBegun, () => live.client.sendMessage({ ...call, body: { message: NO_WORK } }, { signal })),
      over,
    ]);
    await live.untilQuiet();
    return ms;
  }
  async function putToSleep(): Promise<void> {
    await live.client.sleepReplica(call, { signal });
    await live.untilAsleep(replicaId);
    await live.untilQuiet();
  }

  const byRequest: number[] = [];
  const byMessage: number[] = [];
  const awake: number[] = [];
  for (let round = 0; round < scale.samples; round++) {
    await putToSleep();
    byRequest.push(await timeUntil(isActive, () => live.client.wakeReplica(call, { signal })));
    await live.untilQuiet();
    awake.push(await timeMessage());
    await putToSleep();
    byMessage.push(await timeMessage());
  }
  await live.remove([replicaId]);
  return [
    { what: 'wake → active, p50 / p95', goal: '< 1000 ms', measured: describeMs(byRequest, SHARES) },
    {
      what: 'message to a sleeping replica → turn started, p50 / p95',
      goal: '< 1000 ms',
      measured: describeMs(byMessage, SHARES),
    },
    {
      what: 'message to an active replica → turn started, p50 / p95',
      goal: '< 25 ms',
      measured: describeMs(awake, SHARES),
    },
  ];
};

import { expect, test } from 'vitest';
import { createScriptedModel } from './scripted-model.ts';

const model = createScriptedModel({ now: () => new Date(0), newId: () => '0-1' });

function ask(step: object, signal: AbortSignal) {
  const body = {
    model: 'm',
    stream: true,
    tools: [{ name: 'Bash' }],
    messages: [{ role: 'user', content: `SCRIPT:${JSON.stringify([step])}` }],
  };
  const request = {
    method: 'POST',
    path: '/v1/messages',
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
  };
  return model.compose(request, signal);
}

test('a silence ends when the signal aborts', async () => {
  const stop = new AbortController();
  const answer = ask({ hang: 600_000 }, stop.signal);
  stop.abort();
  await expect(answer).rejects.toThrow('aborted');
});

test('a slow answer ends when the signal aborts', async () => {
  const stop = new AbortController();
  const { body } = await ask({ slow: 1_000, delay: 5_000 }, stop.signal);
  const heard: string[] = [];
  const reading = (async () => {
    for await (const frame of body) {
      heard.push(frame);
      if (frame.includes('word 0')) stop.abort();
    }
  })();
  await expect(reading).rejects.toThrow('aborted');
  expect(heard).toHaveLength(3);
});

test('a slow answer keeps its pace', async () => {
  const { body } = await ask({ slow: 3, delay: 50 }, AbortSignal.timeout(10_000));
  const startedAt = performance.now();
  for await (const _ of body);
  // Timers may be early by a millisecond.
  expect(performance.now() - startedAt).toBeGreaterThan(140);
});

test('ids and times are what they are made of', async () => {
  const { body } = await ask({ shell: 'ls' }, AbortSignal.timeout(10_000));
  const frames: string[] = [];
  for await (const frame of body) frames.push(frame);
  expect(frames.join('')).toContain('"id":"msg_01"');
  expect(frames.join('')).toContain('"id":"toolu_01"');
});

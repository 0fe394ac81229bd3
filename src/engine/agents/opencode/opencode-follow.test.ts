import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../agent.ts';
import { followOpencode } from './opencode-follow.ts';

const MAIN = 'ses_main';

function follow() {
  const told: unknown[] = [];
  let heard = 0;
  const follower = followOpencode(
    {
      message: async (type, payload) => void told.push([type, payload]),
      delta: async (event) => void told.push(event),
      heard() {
        heard += 1;
      },
    },
    {
      id: MAIN,
      read: async (id) => ({ info: { id } }),
      onRetry: (retry) => void told.push(retry),
      onAsked: async (kind, id) => void told.push([kind, id]),
    },
  );
  const hear = async (type: string, properties: JsonObject) =>
    follower.hear({ type, properties: { sessionID: MAIN, ...properties } });
  return {
    told,
    heard: () => heard,
    follower,
    hear,
    assistant: (id: string, info: JsonObject = {}) =>
      hear('message.updated', { info: { id, role: 'assistant', ...info } }),
    part: (part: JsonObject, sessionID = MAIN) => hear('message.part.updated', { part, sessionID }),
    piece: (partID: string, delta: string, rest: JsonObject = {}) =>
      hear('message.part.delta', { partID, messageID: 'msg_1', field: 'text', delta, ...rest }),
  };
}

const tool = (status: string, state: JsonObject = {}) => ({
  type: 'tool',
  callID: 'call_1',
  tool: 'bash',
  state: { status, input: { command: 'ls' }, ...state },
});
const begun = { type: 'tool', id: 'call_1', name: 'bash', input: { command: 'ls' } };

describe('what opencode says', () => {
  test('becomes text and thoughts, joined and in order', async () => {
    const { told, part, piece, follower } = follow();
    await part({ id: 'prt_1', type: 'reasoning' });
    await part({ id: 'prt_2', type: 'text' });
    await piece('prt_1', 'hm');
    await piece('prt_1', 'm');
    await piece('prt_2', 'Yes.');
    await piece('prt_9', 'of nobody');
    await follower.finish(null);
    expect(told).toEqual([
      { type: 'thinking', text: 'hmm' },
      { type: 'text', text: 'Yes.' },
    ]);
  });

  test.each([
    [
      'a tool that does it',
      [tool('pending'), tool('running'), tool('running'), tool('completed', { output: 'a' })],
      'a',
    ],
    ['a tool of which only the end is heard', [tool('completed', { output: 'a' })], 'a'],
    [
      'a tool that is done twice',
      [tool('completed', { output: 'a' }), tool('completed', { output: 'b' })],
      'a',
    ],
  ])('shows %s once', async (_name, parts, output) => {
    const { told, part } = follow();
    for (const each of parts) await part(each);
    expect(told).toEqual([begun, { type: 'tool_result', id: 'call_1', output, isError: false }]);
  });

  test('shows a tool that fails', async () => {
    const { told, part } = follow();
    await part(tool('error', { error: 'No.' }));
    expect(told).toEqual([begun, { type: 'tool_result', id: 'call_1', output: 'No.', isError: true }]);
  });

  test('puts a message into the history when the next one begins, and the last at the end', async () => {
    const { told, assistant, hear, follower } = follow();
    await hear('message.updated', { info: { id: 'msg_0', role: 'user' } });
    await assistant('msg_1');
    await assistant('msg_1', { time: { completed: 1 } });
    expect(told).toEqual([]);
    await assistant('msg_2');
    await follower.finish({ info: { id: 'msg_2' }, parts: [] });
    expect(told).toEqual([
      ['opencode-assistant', { info: { id: 'msg_1' } }],
      ['opencode-assistant', { info: { id: 'msg_2' }, parts: [] }],
    ]);
  });

  test('shows the tools of helpers, but not what they say', async () => {
    const { told, hear, part, piece, follower } = follow();
    await hear('session.created', { sessionID: 'ses_1', info: { id: 'ses_1', parentID: MAIN } });
    await hear('session.created', { sessionID: 'ses_2', info: { id: 'ses_2', parentID: 'ses_1' } });
    await part({ id: 'prt_1', type: 'text' }, 'ses_1');
    await piece('prt_1', 'aside', { sessionID: 'ses_1' });
    await part(tool('running'), 'ses_2');
    await follower.finish(null);
    expect(told).toEqual([begun]);
  });

  test('is not what others say, nor what it writes down to forget the rest', async () => {
    const { told, assistant, part, piece, follower } = follow();
    await part(tool('running'), 'ses_stranger');
    await assistant('msg_1', { summary: true });
    await part({ id: 'prt_1', type: 'text' });
    await piece('prt_1', 'So far …');
    await follower.finish({ info: { id: 'msg_1' } });
    expect(told).toEqual([['opencode-assistant', { info: { id: 'msg_1' } }]]);
  });

  test('tells of retries, errors, questions and the end', async () => {
    const { told, hear, follower } = follow();
    await hear('session.status', { status: { type: 'busy' } });
    await hear('session.status', { status: { type: 'retry', attempt: 2, message: 'No.', next: 7 } });
    await hear('permission.asked', { id: 'per_1' });
    await hear('question.asked', { id: 'que_1' });
    await hear('session.error', { error: { name: 'UnknownError' } });
    await hear('session.idle', {});
    await follower.idle;
    expect(follower.lastError()).toEqual({ name: 'UnknownError' });
    expect(told).toEqual([
      { attempt: 2, words: 'No.', nextMs: 7 },
      { type: 'retry', message: 'No.' },
      ['permission', 'per_1'],
      ['question', 'que_1'],
    ]);
  });

  test.each([
    {},
    { type: 'constructor' },
    { type: 'message.part.updated' },
    { type: 'session.status', properties: 7 },
  ])('can be anything, as %j', async (event) => {
    const { told, follower } = follow();
    await follower.hear(event);
    expect(told).toEqual([]);
  });
});

test('what a tool writes is a sign of life, and what others do is none', async () => {
  const { told, hear, part, heard } = follow();
  await part(tool('running', { metadata: { output: 'compiling' } }));
  await part(tool('running', { metadata: { output: 'compiling more' } }));
  expect(heard()).toBe(2);
  expect(told).toHaveLength(1);
  await hear('session.updated', { sessionID: 'ses_other', info: { id: 'ses_other' } });
  await hear('server.heartbeat', { sessionID: undefined });
  expect(heard()).toBe(2);
});

import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isHistory, openRollout } from './codex-rollout.ts';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'codex-rollout-'));
  file = path.join(folder, 'rollout.jsonl');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const line = (text: string) => `${JSON.stringify({ type: 'event_msg', payload: { text } })}\n`;
const texts = (lines: { payload: object }[]) =>
  lines.map(({ payload }) => (payload as { text: string }).text);

test('what stands there already is not read', async () => {
  writeFileSync(file, line('old'));
  const rollout = await openRollout(file);
  appendFileSync(file, line('new'));
  expect(texts(await rollout.read())).toEqual(['new']);
  expect(await rollout.read()).toEqual([]);
});

test('a file that comes later is read from its beginning', async () => {
  const rollout = await openRollout(file);
  expect(await rollout.read()).toEqual([]);
  writeFileSync(file, line('a') + line('b'));
  expect(texts(await rollout.read())).toEqual(['a', 'b']);
});

test('half a line waits for its other half', async () => {
  const rollout = await openRollout(file);
  writeFileSync(file, line('a') + line('bä').slice(0, 20));
  expect(texts(await rollout.read())).toEqual(['a']);
  appendFileSync(file, line('bä').slice(20));
  expect(texts(await rollout.read())).toEqual(['bä']);
});

test('lines that are too long or no records are passed over', async () => {
  const rollout = await openRollout(file, { maxBytes: 100 });
  writeFileSync(file, `${line('a')}${line('x'.repeat(300))}nothing\n[1]\n${line('b')}`);
  const read = [...(await rollout.read()), ...(await rollout.read())];
  expect(texts(read).filter(Boolean)).toEqual(['a', 'b']);
});

test('more than is good for the memory is read piece by piece', async () => {
  const rollout = await openRollout(file, { maxBytes: 100 });
  writeFileSync(file, line('a') + line('b') + line('c'));
  expect(texts(await rollout.read())).toEqual(['a', 'b']);
  expect(texts(await rollout.read())).toEqual(['c']);
  expect(await rollout.read()).toEqual([]);
});

test('a link to another file is not followed', async () => {
  symlinkSync('/etc/passwd', file);
  await expect(openRollout(file)).rejects.toThrow('ELOOP');
});

test.each([
  ['response_item', { type: 'message', role: 'assistant' }, true],
  ['response_item', { type: 'function_call', name: 'exec_command' }, true],
  ['response_item', { type: 'function_call_output' }, true],
  ['response_item', { type: 'message', role: 'user' }, false],
  ['response_item', { type: 'message', role: 'developer' }, false],
  ['response_item', { type: 'additional_tools', role: 'developer' }, false],
  ['event_msg', { type: 'agent_message' }, true],
  ['event_msg', { type: 'task_complete' }, true],
  ['event_msg', { type: 'user_message' }, false],
  ['event_msg', { type: 'thread_settings_applied' }, false],
  ['turn_context', {}, false],
])('of the history: %s %j is %s', (type, payload, expected) => {
  expect(isHistory({ type, payload })).toBe(expected);
});

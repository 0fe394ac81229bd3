import type { BootPlan, TerminalRequest, TurnRequest } from './protocol.ts';
import { EngineRefusal } from './refusal.ts';

/**
 * The control plane is trusted to mean well, not to be of the same version: what would make a later step fail in an odd
 * way is refused here.
 */
export function parseBootPlan(body: Buffer): BootPlan {
  const plan = readObject(body);
  expect(isId(plan.id), 'id must be a UUID');
  expect(
    isList(plan.repositories, isRepository),
    'repositories must each have id, name, url, branch and restore',
  );
  expect(isList(plan.files, isFile), 'files must each have path and contentBase64');
  expect(isRecord(plan.variables, isText), 'variables must be texts');
  expect(isList(plan.skills, isSkill), 'skills must each have slug and files');
  expect(isRecord(plan.mcpServers, isObject), 'mcpServers must be objects');
  expect(plan.systemPrompt === null || isText(plan.systemPrompt), 'systemPrompt must be a text or null');
  expect(
    isList(plan.hooks, isHook),
    'hooks must each have runId, phase, repository, commands, timeoutMs and separate',
  );
  expect(plan.failOn === 'nothing' || plan.failOn === 'warm_hook', 'failOn must be nothing or warm_hook');
  const identity = plan.gitIdentity;
  expect(
    isObject(identity) && isText(identity.name) && isText(identity.email),
    'gitIdentity must have name and email',
  );
  return plan as BootPlan;
}

export function parseTurn(body: Buffer): TurnRequest {
  const turn = readObject(body);
  expect(isId(turn.id) && isId(turn.chatId), 'id and chatId must be UUIDs');
  expect(isText(turn.agent) && isText(turn.message), 'agent and message must be texts');
  return turn as TurnRequest;
}

export function parseTerminal(body: Buffer): TerminalRequest {
  const terminal = readObject(body);
  expect(isId(terminal.id), 'id must be a UUID');
  expect(terminal.command === undefined || isText(terminal.command), 'command must be a text');
  return { ...(terminal as TerminalRequest), ...readSize(terminal) };
}

export function parseTerminalSize(body: Buffer): { cols: number; rows: number } {
  return readSize(readObject(body));
}

type Json = Record<string, unknown>;

function readSize({ cols, rows }: Json): { cols: number; rows: number } {
  expect(isCount(cols) && isCount(rows), 'cols and rows must be whole numbers from 1 to 1000');
  return { cols: Number(cols), rows: Number(rows) };
}

function readObject(body: Buffer): Json {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw new EngineRefusal(400, 'The body is not JSON.');
  }
  expect(isObject(value), 'it must be an object');
  return value as Json;
}

function expect(isSo: boolean, sentence: string): void {
  if (!isSo) throw new EngineRefusal(400, `The body is not what was expected: ${sentence}.`);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isId(value: unknown): boolean {
  return isText(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000;
}

function isList(value: unknown, isItem: (item: Json) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && isItem(item));
}

function isRecord(value: unknown, isValue: (value: unknown) => boolean): boolean {
  return isObject(value) && Object.values(value).every(isValue);
}

function isRepository({ id, name, url, branch, restore }: Json): boolean {
  const isFolder = isText(name) && /^(?!\.{1,2}$)[^/\0]+$/.test(name);
  return (
    isId(id) && isFolder && isText(url) && (branch === null || isText(branch)) && typeof restore === 'boolean'
  );
}

function isFile({ path, contentBase64 }: Json): boolean {
  return isText(path) && isText(contentBase64);
}

function isSkill({ slug, files }: Json): boolean {
  return isText(slug) && isList(files, isFile);
}

function isHook({ runId, phase, repository, commands, timeoutMs, separate }: Json): boolean {
  const isTimeout = Number.isInteger(timeoutMs) && Number(timeoutMs) > 0 && Number(timeoutMs) < 2 ** 31;
  const isPlace = repository === null || isText(repository);
  const areCommands = Array.isArray(commands) && commands.every(isText);
  return (
    isId(runId) &&
    (phase === 'warm' || phase === 'start') &&
    isPlace &&
    areCommands &&
    isTimeout &&
    typeof separate === 'boolean'
  );
}

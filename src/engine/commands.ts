import type { Boot } from './boot.ts';
import type { Canvas } from './canvas.ts';
import type { EngineContext } from './context.ts';
import { ENGINE_VERSION } from './engine-version.ts';
import { parseBootPlan, parseTerminal, parseTerminalSize, parseTurn } from './parse-command.ts';
import type { EngineInfo } from './protocol.ts';
import { EngineRefusal } from './refusal.ts';
import type { Repositories } from './repositories.ts';
import type { Route } from './server.ts';
import type { Terminals } from './terminals.ts';
import type { Turns } from './turns.ts';
import { protocolVersions } from './version.ts';

const MAX_PLAN_BYTES = 64 * 1_048_576;
const FLUSH_MS = 60_000;

/** What the control plane can ask of the engine: the table of `protocol.ts`. */
export function engineCommands(parts: {
  context: EngineContext;
  boot: Boot;
  repositories: Repositories;
  canvas: Canvas;
  terminals: Terminals;
  turns: Turns;
  /** Turns of an earlier process have been dealt with. */
  recovered: Promise<void>;
}): Route[] {
  const { context, boot, repositories, canvas, terminals, turns, recovered } = parts;
  const done = { status: 204 };
  const id = '([0-9a-fA-F-]{36})';
  return [
    {
      method: 'GET',
      pattern: /^\/$/,
      answer: () => ({ status: 200, json: describeEngine(context, { boot, turns }) }),
    },
    {
      method: 'PUT',
      pattern: /^\/boot$/,
      maxBytes: MAX_PLAN_BYTES,
      answer({ body }) {
        boot.start(parseBootPlan(body));
        return { status: 202, json: { boot: boot.info() } };
      },
    },
    {
      method: 'POST',
      pattern: /^\/turns$/,
      maxBytes: MAX_PLAN_BYTES,
      async answer({ body }) {
        const turn = parseTurn(body);
        await recovered;
        await turns.start(turn);
        return { status: 202, json: {} };
      },
    },
    {
      method: 'POST',
      pattern: new RegExp(`^/turns/${id}/interrupt$`),
      answer: async ({ params: [turnId = ''] }) => ({
        status: 200,
        json: { interrupted: await turns.interrupt(turnId) },
      }),
    },
    {
      method: 'DELETE',
      pattern: new RegExp(`^/chats/${id}$`),
      async answer({ params: [chatId = ''] }) {
        await turns.forgetChat(chatId);
        return done;
      },
    },
    {
      method: 'POST',
      pattern: /^\/capture$/,
      async answer() {
        await Promise.all([repositories.capture(), canvas.sync()]);
        await flush(context);
        return { status: 200, json: {} };
      },
    },
    {
      method: 'POST',
      pattern: /^\/flush$/,
      async answer() {
        await flush(context);
        return { status: 200, json: {} };
      },
    },
    {
      method: 'GET',
      pattern: /^\/terminals$/,
      answer: () => ({ status: 200, json: { terminals: terminals.list() } }),
    },
    {
      method: 'POST',
      pattern: /^\/terminals$/,
      answer: async ({ body }) => ({ status: 201, json: await terminals.create(parseTerminal(body)) }),
    },
    {
      method: 'POST',
      pattern: new RegExp(`^/terminals/${id}/input$`),
      async answer({ params: [terminalId = ''], body }) {
        await terminals.input(terminalId, body);
        return done;
      },
    },
    {
      method: 'POST',
      pattern: new RegExp(`^/terminals/${id}/resize$`),
      async answer({ params: [terminalId = ''], body }) {
        await terminals.resize(terminalId, parseTerminalSize(body));
        return done;
      },
    },
    {
      method: 'GET',
      pattern: new RegExp(`^/terminals/${id}/stream$`),
      answer({ params: [terminalId = ''], query }) {
        const { offset, stream } = terminals.stream(terminalId, readOffset(query));
        const headers = { 'content-type': 'application/octet-stream', 'x-terminal-offset': String(offset) };
        return { status: 200, headers, stream };
      },
    },
    {
      method: 'DELETE',
      pattern: new RegExp(`^/terminals/${id}$`),
      async answer({ params: [terminalId = ''] }) {
        await terminals.remove(terminalId);
        return done;
      },
    },
  ];
}

function describeEngine(
  { incarnation }: EngineContext,
  { boot, turns }: { boot: Boot; turns: Turns },
): EngineInfo {
  return {
    protocol: protocolVersions,
    version: ENGINE_VERSION,
    incarnation,
    uptimeSeconds: process.uptime(),
    boot: boot.info(),
    turns: turns.inWork(),
  };
}

async function flush(context: EngineContext): Promise<void> {
  try {
    await context.flush(AbortSignal.timeout(FLUSH_MS));
  } catch {
    throw new EngineRefusal(503, 'The gateway did not take everything in time. Try again.');
  }
}

function readOffset(query: URLSearchParams): number {
  const text = query.get('offset') ?? '0';
  const offset = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(offset)) {
    throw new EngineRefusal(400, 'offset must be a whole number from 0 on.');
  }
  return offset;
}

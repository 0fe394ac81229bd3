import { type IncomingMessage, request as send } from 'node:http';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { type TerminalInfo, type TerminalRequest, terminalInfo } from '../engine/protocol.ts';
import { type EngineAnswer, EngineUnreachableError } from '../sandbox/engine-client.ts';
import type { SandboxService } from '../sandbox/service.ts';

type Parts = { sandboxes: Pick<SandboxService, 'command' | 'connect'> };
/** The terminals of one sandbox. */
type At = { db: Db; sandboxId: string; signal: AbortSignal };

export type EngineTerminals = ReturnType<typeof createEngineTerminals>;
export type TerminalOutput = {
  /** The offset of the first byte. */
  offset: number;
  /** Ends when the terminal does; breaks when the sandbox ends, or when it is read too slowly. */
  bytes: AsyncIterable<Buffer>;
};

/** Ended ones are kept too; an engine that lists more is none of ours. */
const terminalList = z.object({ terminals: z.array(terminalInfo).max(200) });
const CONNECT_LIMIT_MS = 10_000;
const INPUT_LIMIT_MS = 30_000;

/** Speaks with the engine about terminals. Whatever it answers is parsed: it comes from a sandbox. */
export function createEngineTerminals({ sandboxes }: Parts) {
  async function command(at: At, method: string, path: string, body?: unknown): Promise<EngineAnswer> {
    const asked = { method, path, ...(body !== undefined && { body }) };
    return sandboxes.command(at.db, at.sandboxId, asked, at.signal).catch(refuseUnreachable);
  }

  async function list(at: At): Promise<TerminalInfo[]> {
    const { status, body } = await command(at, 'GET', '/terminals');
    const parsed = terminalList.safeParse(body);
    if (status !== 200 || !parsed.success) throw oddAnswer();
    return parsed.data.terminals;
  }

  async function create(at: At, request: TerminalRequest): Promise<TerminalInfo> {
    const { status, body } = await command(at, 'POST', '/terminals', request);
    if (status === 409) {
      const sentence = 'The replica has 8 terminals, which is as many as it may; close one first.';
      throw new AppError('limit_reached', sentence);
    }
    const parsed = terminalInfo.safeParse(body);
    if (status !== 201 || !parsed.success || parsed.data.id !== request.id) throw oddAnswer();
    return parsed.data;
  }

  async function resize(at: At, id: string, size: { cols: number; rows: number }): Promise<void> {
    const { status } = await command(at, 'POST', `/terminals/${id}/resize`, size);
    refuseFailure(status);
  }

  /** False when there is no such terminal. An engine removes what is not there without a word. */
  async function remove(at: At, id: string): Promise<boolean> {
    if (!(await list(at)).some((terminal) => terminal.id === id)) return false;
    const { status } = await command(at, 'DELETE', `/terminals/${id}`);
    if (status !== 404) refuseFailure(status);
    return true;
  }

  async function input(at: At, id: string, data: Buffer): Promise<void> {
    const signal = AbortSignal.any([at.signal, AbortSignal.timeout(INPUT_LIMIT_MS)]);
    const { incoming, connection } = await exchange(
      { ...at, signal },
      'POST',
      `/terminals/${id}/input`,
      data,
    );
    connection.destroy();
    refuseFailure(incoming.statusCode ?? 0);
  }

  /** What a terminal has written from an offset on and what it writes; null when there is no such terminal. */
  async function follow(at: At, id: string, offset: number): Promise<TerminalOutput | null> {
    const path = `/terminals/${id}/stream?offset=${offset}`;
    const { incoming, connection } = await exchange(at, 'GET', path);
    if (incoming.statusCode === 200)
      return { offset: offsetIn(incoming) ?? offset, bytes: bytesOf(incoming, connection) };
    connection.destroy();
    if (incoming.statusCode === 404) return null;
    throw oddAnswer();
  }

  /** A request that is not a command of JSON. Its connection is the caller's to close. */
  async function exchange(
    { db, sandboxId, signal }: At,
    method: string,
    path: string,
    data?: Buffer,
  ): Promise<{ incoming: IncomingMessage; connection: Duplex }> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_LIMIT_MS)]);
    const { connection, secret } = await sandboxes
      .connect(db, sandboxId, 'engine', bounded)
      .catch(refuseUnreachable);
    const outgoing = send({
      method,
      path,
      host: 'engine',
      createConnection: () => connection,
      signal,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(data && { 'content-type': 'application/octet-stream', 'content-length': data.length }),
      },
    });
    try {
      const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.once('response', resolve).on('error', reject).end(data);
      });
      return { incoming, connection };
    } catch (cause) {
      connection.destroy();
      throw unreachable(new EngineUnreachableError('The engine broke off.', { cause }));
    }
  }

  return { list, create, resize, remove, input, follow };
}

async function* bytesOf(incoming: IncomingMessage, connection: Duplex): AsyncGenerator<Buffer> {
  try {
    for await (const piece of incoming) yield piece as Buffer;
  } catch (cause) {
    throw unreachable(new EngineUnreachableError('The engine broke off.', { cause }));
  } finally {
    connection.destroy();
  }
}

function offsetIn({ headers }: IncomingMessage): number | null {
  const text = String(headers['x-terminal-offset'] ?? '');
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function refuseFailure(status: number): void {
  if (status === 404) throw notFound('Terminal');
  if (status === 409) {
    const sentence = 'The program in the terminal has ended, or does not read what is typed.';
    throw new AppError('invalid_state', sentence);
  }
  if (status !== 200 && status !== 204) throw oddAnswer();
}

function refuseUnreachable(error: unknown): never {
  throw error instanceof EngineUnreachableError ? unreachable(error) : error;
}

function unreachable(cause: EngineUnreachableError): AppError {
  const sentence = 'The replica does not answer at the moment; try again shortly.';
  return new AppError('unavailable', sentence, null, cause);
}

function oddAnswer(): AppError {
  return new AppError('unavailable', 'The replica could not do this with its terminals; try again shortly.');
}

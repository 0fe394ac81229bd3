import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { CursorMcpServer } from '../../../src/engine/agents/cursor/cursor-sdk.ts';
import { readLines } from './lines.ts';

/** What a server is asked, and answers. */
type McpMessage = { id?: number; result?: { tools?: { name: string }[]; content?: unknown } };
type Ask = (method: string, params?: object) => Promise<McpMessage>;

/** The tools of all servers by the names that the model is given, as `server_tool`. */
export type McpTools = Map<string, (args: object) => Promise<unknown>>;

export async function connectMcpServers(servers: Record<string, CursorMcpServer>): Promise<McpTools> {
  const tools: McpTools = new Map();
  for (const [name, server] of Object.entries(servers)) {
    const ask = await connect(server);
    await ask('initialize', {
      protocolVersion: '2025-03-26',
      capabilities: {},
      clientInfo: { name: 'stand-in', version: '1' },
    });
    const { result } = await ask('tools/list');
    for (const tool of result?.tools ?? [])
      tools.set(`${name}_${tool.name}`, async (args) => {
        const answer = await ask('tools/call', { name: tool.name, arguments: args });
        return answer.result?.content;
      });
  }
  return tools;
}

async function connect(server: CursorMcpServer): Promise<Ask> {
  if (server.type === 'stdio') return connectProcess(server);
  return server.type === 'http'
    ? numbered((message) => post(server, server.url, message))
    : connectEvents(server);
}

type Remote = Extract<CursorMcpServer, { url: string }>;
type Send = (message: { id: number; method: string }) => Promise<McpMessage>;

function numbered(send: Send): Ask {
  let count = 0;
  return (method, params = {}) => {
    count += 1;
    return send({ ...{ jsonrpc: '2.0', params }, id: count, method });
  };
}

async function post(server: Remote, url: string, message: object): Promise<McpMessage> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...server.headers, 'content-type': 'application/json' },
    body: JSON.stringify(message),
  });
  const text = await answer.text();
  return text === '' ? {} : JSON.parse(text);
}

function connectProcess({ command, args, env }: Extract<CursorMcpServer, { type: 'stdio' }>): Ask {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const { wait, heard } = createAnswers();
  createInterface({ input: child.stdout }).on('line', (line) => heard(JSON.parse(line)));
  return numbered((message) => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    return wait(message.id);
  });
}

async function connectEvents(server: Remote): Promise<Ask> {
  const events = await fetch(server.url, { headers: { ...server.headers, accept: 'text/event-stream' } });
  const { promise: endpoint, resolve } = Promise.withResolvers<string>();
  const { wait, heard } = createAnswers();
  void listen();
  return numbered(async (message) => {
    const answered = wait(message.id);
    await post(server, await endpoint, message);
    return answered;
  });

  async function listen(): Promise<void> {
    let event = '';
    for await (const line of readLines(events.body)) {
      const [, field, value = ''] = /^(event|data): (.*)$/.exec(line) ?? [];
      if (field === 'event') event = value;
      else if (field === 'data' && event === 'endpoint') resolve(new URL(value, server.url).href);
      else if (field === 'data') heard(JSON.parse(value));
    }
  }
}

/** Brings together questions and answers that come by another way. */
function createAnswers(): { wait(id: number): Promise<McpMessage>; heard(message: McpMessage): void } {
  const waiting = new Map<number | undefined, (message: McpMessage) => void>();
  return {
    wait: (id) => new Promise((resolve) => waiting.set(id, resolve)),
    heard: (message) => waiting.get(message.id)?.(message),
  };
}

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { answerMcp } from './mcp-answer.ts';

/**
 * Stands in for the gateway as agents see it: the model API below `/model/{agent}/{chatId}`, and the service's own MCP
 * server below `/mcp/`. Two more MCP servers are there for environments: `/http/mcp` and `/sse`.
 */
export type AgentGateway = {
  port: number;
  /** Without it nothing is answered. */
  secret: string;
  /** Requests that came without the secret or with another one. */
  refused: string[];
  /** What MCP servers were asked for, as `own tools/call`. */
  asked: string[];
  close(): Promise<void>;
};

export async function startAgentGateway(options: {
  modelUrl: string;
  secret: string;
}): Promise<AgentGateway> {
  const { modelUrl, secret } = options;
  const refused: string[] = [];
  const asked: string[] = [];
  const streams: ServerResponse[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    const { authorization, 'x-api-key': key } = request.headers;
    const isAllowed = authorization === `Bearer ${secret}` || key === secret;
    if (!isAllowed) {
      refused.push(`${request.method} ${path}`);
      return void response.writeHead(401).end();
    }
    const model = /^\/model\/[^/]+\/[^/]+(\/.*)$/.exec(path)?.[1];
    if (model !== undefined) return forward(request, response, `${modelUrl}${model}`);
    if (path?.startsWith('/mcp/')) return answerPost(request, response, 'own');
    if (path === '/http/mcp') return answerPost(request, response, 'http');
    if (path === '/sse' && request.method === 'GET') {
      const number = streams.push(response.writeHead(200, { 'content-type': 'text/event-stream' })) - 1;
      return void response.write(`event: endpoint\ndata: /sse/${number}\n\n`);
    }
    const stream = streams[Number(/^\/sse\/(\d+)$/.exec(path)?.[1] ?? -1)];
    if (stream === undefined) return void response.writeHead(404).end();
    const answer = await answerTo(request, 'sse');
    if (answer !== null) stream.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
    response.writeHead(202).end();
  }

  async function answerTo(request: IncomingMessage, name: string): Promise<object | null> {
    const message = JSON.parse(await text(request)) as { method?: string };
    asked.push(`${name} ${message.method}`);
    return answerMcp(message, name);
  }

  async function answerPost(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const answer = await answerTo(request, name);
    if (answer === null) return void response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    secret,
    refused,
    asked,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function forward(request: IncomingMessage, response: ServerResponse, url: string): void {
  const onward = httpRequest(url, { method: request.method, headers: request.headers });
  onward.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

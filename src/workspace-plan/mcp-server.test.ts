import { expect, test } from 'vitest';
import { toMcpServer } from './mcp-server.ts';

type Given = Parameters<typeof toMcpServer>[0];

test.each<[string, Given, ReturnType<typeof toMcpServer>]>([
  [
    'a stdio server without arguments',
    { transport: 'stdio', config: { command: 'run' } },
    { transport: 'stdio', command: 'run', args: [], env: {} },
  ],
  [
    'a stdio server with everything and more',
    {
      transport: 'stdio',
      config: { command: 'run', args: ['-v'], env: { A: '1' }, note: 'kept by the API' },
    },
    { transport: 'stdio', command: 'run', args: ['-v'], env: { A: '1' } },
  ],
  [
    'a remote server',
    { transport: 'http', config: { url: 'https://mcp.example/x', headers: { 'x-key': 's' } } },
    { transport: 'http', url: 'https://mcp.example/x', headers: { 'x-key': 's' } },
  ],
  [
    'a remote server without headers',
    { transport: 'sse', config: { url: 'https://mcp.example/x' } },
    { transport: 'sse', url: 'https://mcp.example/x', headers: {} },
  ],
  ['a config of another transport', { transport: 'http', config: { command: 'run' } }, null],
])('%s is planned as the engine takes it', (_, given, expected) => {
  expect(toMcpServer(given)).toEqual(expected);
});

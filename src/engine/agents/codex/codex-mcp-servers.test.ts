import { expect, test } from 'vitest';
import { codexMcpServers } from './codex-mcp-servers.ts';

test('servers are given in the form codex knows', () => {
  const { servers, leftOut } = codexMcpServers(
    {
      local: { transport: 'stdio', command: 'node', args: ['server.js'], env: { A: '1' } },
      remote: { transport: 'http', url: 'https://mcp.example', headers: { authorization: 'Bearer x' } },
    },
    ['HOME', 'REPLICA_PROCESS_TREE'],
  );
  expect(leftOut).toEqual([]);
  expect(servers).toMatchObject({
    local: {
      command: 'node',
      args: ['server.js'],
      env: { A: '1' },
      env_vars: ['HOME', 'REPLICA_PROCESS_TREE'],
    },
    remote: { url: 'https://mcp.example', http_headers: { authorization: 'Bearer x' } },
  });
});

test('servers that only speak sse are left out', () => {
  const { servers, leftOut } = codexMcpServers(
    { old: { transport: 'sse', url: 'https://mcp.example/sse', headers: {} } },
    [],
  );
  expect({ servers, leftOut }).toEqual({ servers: {}, leftOut: ['old'] });
});

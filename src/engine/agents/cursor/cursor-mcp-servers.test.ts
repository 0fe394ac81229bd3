import { expect, test } from 'vitest';
import { cursorMcpServers } from './cursor-mcp-servers.ts';

test('servers of each kind are as Cursor wants them', () => {
  const headers = { authorization: 'Bearer x' };
  const servers = cursorMcpServers(
    {
      local: { transport: 'stdio', command: 'serve', args: ['-v'], env: { MODE: 'own' } },
      web: { transport: 'http', url: 'http://a/mcp', headers },
      old: { transport: 'sse', url: 'http://a/sse', headers },
    },
    { HOME: '/home/x', MODE: 'of the workspace' },
  );
  expect(servers).toEqual({
    local: { type: 'stdio', command: 'serve', args: ['-v'], env: { HOME: '/home/x', MODE: 'own' } },
    web: { type: 'http', url: 'http://a/mcp', headers },
    old: { type: 'sse', url: 'http://a/sse', headers },
  });
});

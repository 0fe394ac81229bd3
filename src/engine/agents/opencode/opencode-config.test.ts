import { describe, expect, test } from 'vitest';
import type { McpServer } from '../../protocol.ts';
import { objectAt } from '../json-fields.ts';
import { opencodeConfig } from './opencode-config.ts';

function compose(
  given: { model?: string; mcpServers?: Record<string, McpServer>; instructions?: string[] } = {},
) {
  return opencodeConfig({
    modelUrl: 'http://127.0.0.1:1/model',
    modelKey: 'key',
    model: 'maker/model',
    instructions: [],
    mcpServers: {},
    ...given,
  });
}

const read = (text: string) => JSON.parse(text) as Record<string, Record<string, unknown>>;

describe('the configuration of opencode', () => {
  test('leads both providers to the gateway and leaves no other', () => {
    const { provider, enabled_providers } = read(compose());
    expect(enabled_providers).toEqual(Object.keys(provider ?? {}));
    for (const entry of Object.values(provider ?? {}))
      expect(entry).toMatchObject({ options: { baseURL: 'http://127.0.0.1:1/model/v1', apiKey: 'key' } });
  });

  test.each(['maker/model', 'a/b/c:free', '~maker/latest', '__proto__'])('declares the model %s', (model) => {
    const { provider } = read(compose({ model }));
    const models = objectAt(objectAt(provider ?? {}, 'router'), 'models');
    expect(Object.keys(models)).toEqual([model]);
  });

  test('lets a plan change nothing', () => {
    expect(read(compose()).agent).toEqual({
      plan: { permission: { edit: 'deny', bash: 'deny', task: 'deny' } },
    });
  });

  test('asks nobody anything', () => {
    expect(Object.values(read(compose()).permission ?? {})).not.toContain('ask');
  });

  test.each<[McpServer, object]>([
    [
      { transport: 'stdio', command: 'npx', args: ['-y', 'server'], env: { KEY: 'x' } },
      { type: 'local', command: ['npx', '-y', 'server'], environment: { KEY: 'x' } },
    ],
    [
      { transport: 'http', url: 'https://a.example/mcp', headers: { a: 'b' } },
      { type: 'remote', url: 'https://a.example/mcp', headers: { a: 'b' }, oauth: false },
    ],
    [
      { transport: 'sse', url: 'https://a.example/sse', headers: {} },
      { type: 'remote', url: 'https://a.example/sse', headers: {}, oauth: false },
    ],
  ])('gives it the MCP server %j', (server, entry) => {
    expect(read(compose({ mcpServers: { mine: server } })).mcp).toEqual({
      mine: { ...entry, enabled: true, timeout: 30_000 },
    });
  });

  test('holds nothing that opencode would take for a variable or a file', () => {
    const headers = { a: '{env:HOME}', b: 'x{file:/etc/passwd}' };
    const text = compose({ mcpServers: { mine: { transport: 'http', url: 'https://a.example', headers } } });
    expect(text).not.toMatch(/\{(env|file):/);
    expect(read(text).mcp).toMatchObject({ mine: { headers } });
  });
});

import { describe, expect, test } from 'vitest';
import { type McpChange, type McpTransport, resolveChange } from './change.ts';

const stdio = { command: 'npx' };
const remote = { url: 'https://mcp.example.com/mcp' };

describe('a change is accepted when the config fits the transport that stands after it', () => {
  test.each<[McpTransport, McpChange, McpTransport]>([
    ['stdio', {}, 'stdio'],
    ['http', {}, 'http'],
    ['stdio', { transport: 'stdio' }, 'stdio'],
    ['stdio', { config: stdio }, 'stdio'],
    ['stdio', { transport: 'stdio', config: stdio }, 'stdio'],
    ['stdio', { transport: 'http', config: remote }, 'http'],
    ['http', { transport: 'sse', config: remote }, 'sse'],
    ['sse', { transport: 'stdio', config: stdio }, 'stdio'],
    ['sse', { config: remote }, 'sse'],
  ])('%s changed by %j', (current, change, transport) => {
    expect(resolveChange(current, change)).toEqual({ transport, config: change.config, refusal: null });
  });
});

describe('a change is refused when the config is missing or belongs to another transport', () => {
  test.each<[McpTransport, McpChange, RegExp]>([
    ['stdio', { transport: 'http' }, /from stdio to http.*must be given/],
    ['http', { transport: 'sse' }, /from http to sse.*must be given/],
    ['http', { transport: 'stdio' }, /from http to stdio.*must be given/],
    ['stdio', { config: remote }, /config\.command: .*config\.url: belongs to/],
    ['http', { config: stdio }, /config\.url: .*config\.command: belongs to/],
    ['http', { transport: 'stdio', config: remote }, /does not fit the transport stdio/],
    ['stdio', { transport: 'sse', config: stdio }, /does not fit the transport sse/],
    ['stdio', { config: { ...stdio, ...remote } }, /config\.url: belongs to/],
  ])('%s changed by %j', (current, change, refusal) => {
    expect(resolveChange(current, change).refusal).toMatch(refusal);
  });
});

describe('a config is taken as it is given, with fields that are not known', () => {
  test.each<[McpTransport, Record<string, unknown>]>([
    ['stdio', { command: 'npx', args: [], env: {} }],
    [
      'stdio',
      {
        command: '/usr/bin/env',
        args: ['-i', ''],
        env: { A_1: '', _b: 'x\ny' },
        cwd: '~/a',
        deep: { a: [1] },
      },
    ],
    ['stdio', { command: 'x'.repeat(4_096) }],
    ['http', { url: 'http://localhost:3000/mcp', headers: {} }],
    [
      'http',
      { url: 'https://example.com/{TENANT}?a=b', headers: { Authorization: 'Bearer $TOKEN', 'x-a': '' } },
    ],
    ['sse', { url: 'HTTPS://example.com', headers: { 'X_y.z~': 'tab\tü' }, timeout: 5 }],
  ])('%s %j', (transport, config) => {
    expect(resolveChange(transport, { config })).toEqual({ transport, config, refusal: null });
  });
});

describe('a config that could not work is refused', () => {
  const many = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`k${index}`, '']));
  test.each<[McpTransport, Record<string, unknown>, RegExp]>([
    ['stdio', {}, /config\.command/],
    ['stdio', { command: '' }, /must not be empty/],
    ['stdio', { command: 7 }, /config\.command/],
    ['stdio', { command: 'a\0' }, /NUL/],
    ['stdio', { command: '\ud800' }, /lone surrogates/],
    ['stdio', { command: 'x'.repeat(4_097) }, /4096 characters/],
    ['stdio', { command: 'a', args: 'b' }, /config\.args/],
    ['stdio', { command: 'a', args: [1] }, /config\.args\.0/],
    ['stdio', { command: 'a', args: Array(257).fill('') }, /at most 256/],
    ['stdio', { command: 'a', env: { 'a-b': '' } }, /must have keys/],
    ['stdio', { command: 'a', env: { '1a': '' } }, /must have keys/],
    ['stdio', { command: 'a', env: { '': '' } }, /must have keys/],
    ['stdio', { command: 'a', env: { A: 1 } }, /config\.env\.A/],
    ['stdio', { command: 'a', env: { A: 'x\0' } }, /NUL/],
    ['stdio', { command: 'a', env: many }, /at most 256/],
    ['stdio', { command: 'a', pad: 'é'.repeat(32_768) }, /65,536 bytes/],
    ['http', {}, /config\.url/],
    ['http', { url: '' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'example.com' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'https:example.com' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'file:///etc/passwd' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'javascript:alert(1)' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'https://exa mple.com' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'https://example.com/\r\nX: y' }, /http:\/\/ or https:\/\//],
    ['http', { url: 'https://user:pass@example.com' }, /without user name/],
    ['http', { url: `https://example.com/${'a'.repeat(2_048)}` }, /2048 characters/],
    ['sse', { ...remote, headers: { 'a b': '' } }, /header names/],
    ['sse', { ...remote, headers: { 'a:': '' } }, /header names/],
    ['sse', { ...remote, headers: { '': '' } }, /header names/],
    ['sse', { ...remote, headers: { a: 'b\r\nc: d' } }, /line breaks/],
    ['sse', { ...remote, headers: { a: 'b\n' } }, /line breaks/],
    ['sse', { ...remote, headers: { a: '日本' } }, /HTTP header can carry/],
    ['sse', { ...remote, headers: { a: null } }, /config\.headers\.a/],
    [
      'sse',
      { ...remote, headers: many, command: 'x' },
      /config\.headers: .*at most 256.*config\.command: belongs/,
    ],
  ])('%s %j', (transport, config, refusal) => {
    expect(resolveChange(transport, { config }).refusal).toMatch(refusal);
  });
});

import { describe, expect, test } from 'vitest';
import { describeFailure } from './failure.ts';

describe('describeFailure', () => {
  test.each([
    ["fatal: unable to access 'http://h/a/': The requested URL returned error: 301", 'refused', /redirects/],
    [
      "fatal: could not read Username for 'https://h': terminal prompts disabled",
      'unauthorized',
      /credential/,
    ],
    ["fatal: Authentication failed for 'https://h/a/'", 'unauthorized', /credential/],
    [
      "fatal: unable to access 'http://h/a/': The requested URL returned error: 403",
      'unauthorized',
      /credential/,
    ],
    ["fatal: repository 'http://h/a/' not found", 'not_found', /no repository/],
    ["fatal: '/srv/a' does not appear to be a git repository", 'not_found', /no repository/],
    [
      "fatal: unable to access 'http://h/a/': The requested URL returned error: 500",
      'unreachable',
      /status 500/,
    ],
    [
      "fatal: unable to access 'http://h/': Failed to connect to h port 1: Connection refused",
      'unreachable',
      /reached/,
    ],
    [
      "fatal: unable to access 'https://h/': server certificate verification failed. CAfile: none",
      'unreachable',
      /certificate/,
    ],
    [
      "fatal: unable to access 'http://h/': Operation too slow. Less than 1000 bytes/sec",
      'timeout',
      /in time/,
    ],
    ["fatal: couldn't find remote ref refs/heads/gone", 'missing_branch', /no longer exists/],
    ['error: index-pack died of signal 25', 'too_large', /too large/],
    ['fatal: Out of memory, malloc failed (tried to allocate 9 bytes)', 'too_large', /too large/],
    ['fatal: http://h/a/info/refs not valid: is this a git repository?', 'not_found', /like a git host/],
    ['sh: 1: exec: git: not found', 'failed', /not installed/],
    ['something new', 'failed', /does not know/],
    ['', 'failed', /does not know/],
  ])('%j is %s', (stderr, kind, sentence) => {
    const error = describeFailure(stderr);
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(sentence);
  });

  test('words that a hostile server repeats without end are read in one pass', () => {
    for (let times = 0; times < 50; times += 1) {
      expect(describeFailure("repository '".repeat(5_400)).kind).toBe('failed');
    }
  });

  test('the message repeats nothing of what git wrote, and the cause keeps a bounded part of it', () => {
    const error = describeFailure(
      `${'x'.repeat(10_000)} fatal: '/srv/secret/place' does not appear to be a git repository`,
    );
    expect(error.message).not.toContain('/srv/secret');
    expect((error.cause as Error).message).toContain('/srv/secret/place');
    expect((error.cause as Error).message.length).toBeLessThanOrEqual(4096);
  });
});

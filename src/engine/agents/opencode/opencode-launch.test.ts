import { describe, expect, test } from 'vitest';
import { opencodeLaunch } from './opencode-launch.ts';

function launch(environment: Record<string, string> = {}) {
  const given = { config: '{}', database: '/home/chat.db', architecture: 'x64' };
  return opencodeLaunch({ programs: '/programs', environment }, given);
}

describe('the start of opencode', () => {
  test('takes the program for the machine', () => {
    expect(launch().program).toBe('/programs/node_modules/opencode-linux-x64/bin/opencode');
  });

  test("keeps the workspace's variables, but not what would lead elsewhere", () => {
    const { environment } = launch({ MINE: '1', OPENCODE_DB: ':memory:', OPENCODE_CONFIG_CONTENT: 'x' });
    expect(environment).toMatchObject({
      MINE: '1',
      OPENCODE_DB: '/home/chat.db',
      OPENCODE_CONFIG_CONTENT: '{}',
    });
  });

  test("finds the workspace's own programs first", () => {
    expect(launch({ PATH: '/usr/bin' }).environment.PATH).toBe(
      '/usr/bin:/programs/node_modules/@vscode/ripgrep-linux-x64/bin',
    );
  });
});

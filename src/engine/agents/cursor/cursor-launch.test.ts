import { expect, test } from 'vitest';
import { cursorLaunch } from './cursor-launch.ts';

const engine = { node: '/opt/node', script: '/opt/engine.mjs' };

test('the runner is the program of the engine with another word', () => {
  const { program, args } = cursorLaunch({}, engine);
  expect([program, ...args]).toEqual(['/opt/node', '--no-warnings', '/opt/engine.mjs', 'cursor-runner']);
});

test('variables of the workspace that would lead elsewhere are left out, and proxies are believed in', () => {
  const { environment } = cursorLaunch(
    {
      HOME: '/home/x',
      HTTPS_PROXY: 'http://proxy',
      CURSOR_API_KEY: 'another',
      CURSOR_BACKEND_URL: 'http://elsewhere',
      NODE_OPTIONS: '--import ./missing.mjs',
      NODE_USE_ENV_PROXY: '0',
    },
    engine,
  );
  expect(environment).toEqual({ HOME: '/home/x', HTTPS_PROXY: 'http://proxy', NODE_USE_ENV_PROXY: '1' });
});

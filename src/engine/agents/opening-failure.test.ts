import { expect, test } from 'vitest';
import { PlacementError } from '../home-folder.ts';
import { AgentFailure } from './agent.ts';
import { openingFailure } from './opening-failure.ts';

const systemError = (fields: { code: string; path?: string }) => Object.assign(new Error('x'), fields);

test.each([
  [systemError({ code: 'ENOSPC' }), 'the disk of the workspace is full; make room on it'],
  [systemError({ code: 'EDQUOT' }), 'the disk of the workspace is full; make room on it'],
  [
    systemError({ code: 'EEXIST', path: '/home/a/workspaces' }),
    '/home/a/workspaces cannot be used, because the file system answers EEXIST',
  ],
  [
    new PlacementError('engine on the way to it is a link'),
    'one of its files cannot be used, because engine on the way to it is a link',
  ],
])('trouble of the disk is a sentence: %s', (error, reason) => {
  const failure = openingFailure(error);
  expect(failure).toBeInstanceOf(AgentFailure);
  expect((failure as AgentFailure).message).toBe(`The agent cannot be started: ${reason}.`);
});

test.each([[new AgentFailure('It does not start.')], [new Error('what is this?')], ['no error at all']])(
  'other trouble stays what it is: %s',
  (error) => {
    expect(openingFailure(error)).toBe(error);
  },
);

import { expect, test } from 'vitest';
import { codexSettings } from './codex-settings.ts';

const request = { model: null, thinkingLevel: 'medium', planMode: false, fastMode: false } as const;
const mode = (mode: string, model: string, effort: string) => ({
  mode,
  settings: { model, reasoning_effort: effort, developer_instructions: null },
});

test.each([
  [{}, { approvalPolicy: 'never', serviceTier: null, collaborationMode: mode('default', 'usual', 'medium') }],
  [{ fastMode: true }, { serviceTier: 'fast' }],
  [{ planMode: true }, { approvalPolicy: 'untrusted', collaborationMode: mode('plan', 'usual', 'medium') }],
  [{ model: 'other' }, { collaborationMode: mode('default', 'other', 'medium') }],
  [{ thinkingLevel: 'low' }, { collaborationMode: mode('default', 'usual', 'low') }],
  [{ thinkingLevel: 'high' }, { collaborationMode: mode('default', 'usual', 'high') }],
  [{ thinkingLevel: 'max' }, { collaborationMode: mode('default', 'usual', 'xhigh') }],
] as const)('a message with %o', (part, settings) => {
  expect(codexSettings({ ...request, ...part }, 'usual')).toMatchObject(settings);
});

import { expect, test } from 'vitest';
import { answerCodex } from './codex-approval.ts';

const command = 'item/commandExecution/requestApproval';

test.each([
  [command, { kind: 'command', command: "/bin/bash -lc 'cat a.txt'" }, { decision: 'accept' }],
  [command, { kind: 'command', command: "/bin/bash -lc 'rm a.txt'" }, { decision: 'decline' }],
  [command, { kind: 'writeStdin', command: 'cat a.txt' }, { decision: 'decline' }],
  [command, { kind: 'command' }, { decision: 'decline' }],
  ['item/fileChange/requestApproval', {}, { decision: 'decline' }],
  ['item/tool/requestUserInput', {}, { answers: {} }],
  ['mcpServer/elicitation/request', {}, { action: 'decline', content: null, _meta: null }],
  ['account/chatgptAuthTokens/refresh', {}, null],
  ['constructor', {}, null],
])('%s with %j', (method, params, answer) => {
  expect(answerCodex(method, params)).toEqual(answer);
});

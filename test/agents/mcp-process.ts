import { createInterface } from 'node:readline';
import { answerMcp } from './mcp-answer.ts';

/** An MCP server over stdio, named by its variable. */
for await (const line of createInterface({ input: process.stdin })) {
  const answer = answerMcp(JSON.parse(line), process.env.MCP_NAME ?? '');
  if (answer !== null) process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** The stand-in for the gateway as a process that can be killed: `node events-gateway-process.ts SOCKET FILE SECRET`. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { type SentEvent, startEventsGateway } from './events-gateway.ts';

const [socket = '', file = '', secret = ''] = process.argv.slice(2);
const text = readFileSync(file, { encoding: 'utf8', flag: 'a+' });
const whole = text.slice(0, text.lastIndexOf('\n') + 1);
// A kill in the middle of writing leaves a part that was never acknowledged.
writeFileSync(file, whole);
const events: SentEvent[] = whole
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line));
await startEventsGateway({
  socket,
  secret,
  events,
  keep: (fresh) => appendFileSync(file, fresh.map((event) => `${JSON.stringify(event)}\n`).join('')),
});

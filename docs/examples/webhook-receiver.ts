/*
 * Receives the webhooks of replicas. Start it, and give its address and secret to replicas when you create them:
 *
 *   WEBHOOK_SECRET=… PORT=9000 node docs/examples/webhook-receiver.ts
 *   POST /v1/replica { …, "webhook_url": { "url": "https://your.host/", "secret": "…" } }
 */
import { createServer, type IncomingMessage } from 'node:http';
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '../../src/client/client.ts';

const secret = process.env.WEBHOOK_SECRET ?? '';
const port = Number(process.env.PORT ?? 9000);
const LONGEST_BODY = 1_048_576;

/** A delivery that got no answer comes again, so that an event may come twice. A real receiver keeps this in its database. */
const known = new Set<string>();

const server = createServer(async (request, response) => {
  try {
    const event = verifyWebhook({ body: await readBody(request), headers: request.headers, secret });
    if (!known.has(event.id)) process.stdout.write(`${describe(event)}\n`);
    known.add(event.id);
    // Answer soon: whatever takes more than ten seconds counts as lost.
    response.writeHead(204).end();
  } catch (error) {
    // What is answered with 401 is not sent again, what is answered with 500 is.
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
  }
});
server.listen(port, () => process.stdout.write(`listening on ${port}\n`));

function describe({ type, replica, data }: WebhookEvent): string {
  if (type === 'replica.ready') return `${replica.name} is ready`;
  if (type === 'replica.deleted') return `${replica.name} is deleted`;
  if (type === 'replica.error') return `${replica.name} has failed: ${data.message}`;
  return `${replica.name} has finished a turn; new pull requests: ${data.pr_urls.join(' ') || 'none'}`;
}

/** The bytes as they came: they are what was signed. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LONGEST_BODY) throw new WebhookVerificationError('no_event', 'The body is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type RawAnswer = { status: number; headers: Record<string, string>; body: string };

const ANSWER_WITHIN_MS = 10_000;

/** Opens a connection to the service, on which a test writes what no HTTP client would. */
export async function openSocket(baseUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  // A service that hangs up while it is written to is what some tests are about.
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes and reads answers until the service closes the connection. */
export async function exchange(baseUrl: string, bytes: string | Buffer): Promise<RawAnswer[]> {
  const socket = await openSocket(baseUrl);
  socket.write(bytes);
  return parseAnswers(await readAll(socket));
}

/** The answer to a request whose body is announced and never sent. */
export async function announce(
  baseUrl: string,
  { line, key, bytes }: { line: string; key: string; bytes: number },
): Promise<RawAnswer> {
  const lines = [line, 'Host: service.example', `Authorization: Bearer ${key}`, 'Connection: close'];
  const head = [...lines, 'Content-Type: application/json', `Content-Length: ${bytes}`, '', ''].join('\r\n');
  const [answer] = await exchange(baseUrl, head);
  if (!answer) throw new Error('there was no answer');
  return answer;
}

/** What the other side sends until it closes the connection. */
export function readAll(socket: Socket): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy());
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('close', () => resolve(Buffer.concat(chunks)));
  return promise;
}

export function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`not an HTTP answer: ${rest.toString('latin1').slice(0, 200)}`);
    const [first = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines
        .map((line) => line.split(/:\s*(.*)/s, 2))
        .map(([name = '', value = '']) => [name.toLowerCase(), value]),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
    const length = status === 100 ? 0 : Number(headers['content-length'] ?? rest.length - end - 4);
    const isCut = end + 4 + length > rest.length;
    answers.push({ status, headers, body: rest.toString('utf8', end + 4, end + 4 + length) });
    // The answer to HEAD names the length of a body that does not come.
    rest = isCut ? Buffer.alloc(0) : rest.subarray(end + 4 + length);
  }
  return answers;
}

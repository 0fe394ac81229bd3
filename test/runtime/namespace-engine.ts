/**
 * Stands in for the engine: it listens on the socket it was handed, runs commands of a shell and leads on to ports. Plain
 * JavaScript, since it is mounted under the name of the engine's bundle.
 */
export const standInEngine = `
import { exec } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const trusted = (request) => request.headers.authorization === 'Bearer ' + process.env.REPLICA_ENGINE_SECRET;

const server = createServer(async (request, answer) => {
  if (!trusted(request)) return answer.writeHead(401).end();
  let command = '';
  for await (const chunk of request) command += chunk;
  exec(command, { timeout: 20_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
    answer.end(JSON.stringify({ code: error ? error.code ?? error.signal ?? 1 : 0, output: stdout + stderr }));
  });
});
server.on('upgrade', (request, socket) => {
  const refuse = () => socket.end('HTTP/1.1 502 Bad Gateway\\r\\ncontent-length: 0\\r\\n\\r\\n');
  if (!trusted(request)) return refuse();
  const target = connect(Number(request.url.split('/').pop()), '127.0.0.1');
  target.once('error', refuse);
  target.once('connect', () => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nconnection: upgrade\\r\\nupgrade: tcp\\r\\n\\r\\n');
    socket.pipe(target).pipe(socket);
  });
});
server.listen({ fd: 3 });
`;

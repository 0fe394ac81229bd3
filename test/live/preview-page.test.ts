import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { place } from '../../src/engine/place.ts';
import { browser, readPage } from '../world/browser.ts';
import { canIsolate, createLiveReplica, type LiveReplica, startLiveWorld } from '../world/live.ts';
import { type Organization, until, type World } from '../world/world.ts';

const PORT = 3000;

/** What a page needs of its program, each of which says when it has worked. */
const page = `<!doctype html><link rel="stylesheet" href="style.css"><p id="seen"></p>
<script>
const seen = new Set();
const socket = new WebSocket(new URL('socket', location.href.replace(/^http/, 'ws')));
const say = (what) => {
  seen.add(what);
  document.getElementById('seen').textContent = [...seen].sort().join(' ');
  if (seen.size === 5) socket.send('all');
};
socket.onopen = () => socket.send('echo');
socket.onmessage = ({ data }) => say(data);
fetch('text').then((answer) => answer.text()).then(say);
fetch('posted', { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' })
  .then((answer) => answer.text()).then(say);
addEventListener('DOMContentLoaded', () => {
  if (getComputedStyle(document.body).color === 'rgb(1, 2, 3)') say('style');
});
</script>
<script type="module" src="module.js"></script><img src="last.svg">`;

/** Serves the page; the image that a browser waits for comes when the page has all, or has had time enough. */
const program = `
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
const answers = {
  '/': ['text/html', ${JSON.stringify(page)}],
  '/style.css': ['text/css', 'body { color: rgb(1, 2, 3) }'],
  '/module.js': ['text/javascript', 'say("module")'],
  '/text': ['text/plain', 'fetch'],
  '/posted': ['text/plain', 'put'],
};
let finish = () => {};
const server = createServer(async (request, response) => {
  if (request.url === '/last.svg') await new Promise((done) => { finish = done; setTimeout(done, 8000); });
  const [type, text] = answers[request.url] ?? ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'];
  response.setHeader('content-type', type).end(text);
});
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
  socket.on('error', () => {});
  socket.on('data', (frame) => {
    const length = frame[1] & 127;
    const text = frame.subarray(6, 6 + length).map((byte, index) => byte ^ frame[2 + (index % 4)]);
    if (text.toString() === 'all') finish();
    else if ((frame[0] & 15) === 1) socket.write(Buffer.concat([Buffer.from([0x81, length]), text]));
  });
});
server.listen(${PORT}, '127.0.0.1');
`;
const title = 'a page of a preview in a real browser';

describe.skipIf(!canIsolate || !browser)(
  browser ? title : `${title} (skipped: no Chromium is installed)`,
  () => {
    let world: World;
    let org: Organization;
    let replica: LiveReplica;
    let url: string;

    beforeAll(async () => {
      world = await startLiveWorld();
      org = await world.org();
      const made = await org.call('POST', '/v1/environments', { name: 'plain' });
      replica = await createLiveReplica({ world, org }, { environment_id: made.body.environment.id });
      await replica.turn([{ write: { path: 'program.mjs', content: program } }]);
      await replica.run(`cd ~/workspaces && nohup ${place.node} program.mjs > /tmp/program.log 2>&1 &`);
      url = await register(true);
      await until(async () => (await fetch(url)).status === 200);
    });
    afterAll(() => world?.close());

    async function register(isPublic: boolean): Promise<string> {
      const at = `/v1/workspaces/${replica.id}/previews`;
      const { body } = await org.call('POST', at, { port: PORT, public: isPublic });
      return body.preview.publicUrl;
    }

    it('has all it asks for under /p/ when it is public', async () => {
      await register(true);
      expect(await readPage(url)).toContain('<p id="seen">echo fetch module put style</p>');
    });

    it('has all it asks for when it is not public and was opened by a link', async () => {
      await register(false);
      const { body } = await org.call('POST', `/v1/workspaces/${replica.id}/previews/${PORT}/links`);
      expect(await readPage(body.link.url)).toContain('<p id="seen">echo fetch module put style</p>');
    });

    it('is not shown without a link when it is not public', async () => {
      await register(false);
      expect(await readPage(url)).toContain('This preview is not public');
    });
  },
);

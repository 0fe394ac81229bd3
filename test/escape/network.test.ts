import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createEgress } from '../../src/gateway/egress.ts';
import { startGateway } from '../../src/gateway/server.ts';
import type { LiveReplica } from '../world/live.ts';
import { type EscapeWorld, limitObstacle, obstacle, startEscapeWorld, titled } from './escape-world.ts';
import { node } from './inside.ts';

const canary = 'a-service-of-the-host';

describe.skipIf(obstacle !== undefined)(titled('networks that are not those of a sandbox', obstacle), () => {
  let stage: EscapeWorld;
  let thief: LiveReplica;
  /** A service on every address of this machine. */
  const servers: Server[] = [];
  let port: number;
  let visitors = 0;

  beforeAll(async () => {
    const greet = () =>
      createServer((socket) => {
        visitors += 1;
        socket.end(canary);
      });
    const open = greet().listen(0);
    await once(open, 'listening');
    ({ port } = open.address() as AddressInfo);
    const abstract = greet().listen('\0replica-escape-host');
    await once(abstract, 'listening');
    servers.push(open, abstract);
    stage = await startEscapeWorld({ REPLICA_EGRESS_MODE: 'open' });
    thief = await stage.create();
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    expect(await stage?.close()).toEqual([]);
  });
  afterEach(async () => {
    expect(visitors).toBe(0);
    expect(await stage.goesOn()).toBe(true);
  });

  /** What comes of connections from inside, one line each. */
  const dial = (targets: object[]) =>
    thief.run(
      node(`
        const { connect } = require('node:net');
        (async () => {
          for (const target of ${JSON.stringify(targets)}) await new Promise((done) => {
            const say = (word) => () => { console.log(word); socket.destroy(); done(); };
            const socket = connect({ ...target, timeout: 2_000 }).once('connect', say('connected')).once('timeout', say('silence'))
              .once('error', (error) => say(error.code)());
          });
        })();`),
    );

  it('are not reached by connecting to an address of the host', async () => {
    const hosts = ['127.0.0.1', '::1', ...ownAddresses()];
    const { output } = await dial(hosts.map((host) => ({ host, port })));
    expect(output.trimEnd().split('\n')).toHaveLength(hosts.length);
    expect(output).toMatch(/^((ECONNREFUSED|ENETUNREACH|EINVAL|EADDRNOTAVAIL)\n)+$/);
  });

  it('are not reached over abstract sockets of the host or of another sandbox', async () => {
    const neighbour = await stage.neighbour();
    await neighbour.run(listenInBackground);
    const inside = await neighbour.run(node(dialOwn));
    expect(inside.output).toBe('connected\nconnected\n');
    const { output } = await dial([
      { path: '\0replica-escape-host' },
      { path: '\0replica-escape-neighbour' },
      { host: '127.0.0.1', port: neighbourPort },
    ]);
    expect(output).toBe('ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n');
  });

  it('have no socket in the file system but that of the gateway', async () => {
    const { output } = await thief.run('find / -type s -not -path "/proc/*" 2>/dev/null');
    expect(output).toBe('/run/replica/gateway.sock\n');
  });

  it.each([
    ['an address of loopback', '127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 127.0.0.1.'],
    ['an address in another alphabet', '１２７.0.0.1 127。0。0。1 ①②⑦.0.0.1'],
    ['the address of nobody', '0 0.0.0.0 [::]'],
    [
      'loopback as IPv6',
      '[::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::]',
    ],
    [
      'the metadata address',
      '169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 [::ffff:169.254.169.254]',
    ],
    ['the metadata address of another cloud', '[fd00:ec2::254] 100.100.100.200 192.0.0.192 168.63.129.16'],
    ['a private address', '10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 [fe80::1] [fd00::1]'],
    [
      'an address of the host',
      ownAddresses()
        .map((each) => (each.includes(':') ? `[${each}]` : each))
        .join(' '),
    ],
  ])('are not reached through the gateway by %s', async (_way, hosts) => {
    const answers = await askProxy('/run/replica/gateway.sock', hosts.split(' '));
    expect(answers.filter(({ status }) => status !== 400 && status !== 403)).toEqual([]);
  });

  it('are not reached through the gateway by a name that only this machine knows', async () => {
    const answers = await askProxy('/run/replica/gateway.sock', [
      'localhost',
      'LOCALHOST.',
      'ip6-localhost',
      hostname(),
    ]);
    // The name servers, which alone are asked, know none of them.
    expect(answers.filter(({ status }) => status !== 403 && status !== 502)).toEqual([]);
  });

  it('are not reached through the gateway by a name that leads there', async () => {
    const names: Record<string, string[]> = {
      'metadata.example': ['169.254.169.254'],
      'loopback.example': ['127.0.0.1'],
      'mixed.example': ['93.184.216.34', '::ffff:127.0.0.1'],
      'six.example': ['::1'],
    };
    const gateway = await startGateway({
      folder: path.join(stage.world.folder, 'runtime', 'gateway', 'names'),
      authenticate: async () => ({
        sandboxId: 'x',
        organizationId: 'x',
        environmentId: null,
        replicaId: null,
        incarnation: 1,
      }),
      routes: [],
      egress: createEgress({
        policyOf: async () => ({ mode: 'open', hosts: ['metadata.example', 'loopback.example:*'] }),
        record: () => {},
        allowPrivateTargets: false,
        lookup: async (name) => names[name] ?? [],
      }),
      log: pino({ level: 'silent' }),
    });
    try {
      const answers = await askProxy('/run/replica/names/gateway.sock', Object.keys(names));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
    } finally {
      await gateway.close();
    }
  });

  it.skipIf(limitObstacle)('are not reached at a public address that is one of the host itself', async () => {
    const program = path.join(import.meta.dirname, 'own-address-process.ts');
    const script = 'ip link set lo up && ip address add 5.6.7.8/32 dev lo && exec "$@"';
    const { stdout } = await promisify(execFile)('unshare', [
      '--net',
      'sh',
      '-c',
      script,
      'sh',
      process.execPath,
      program,
      '5.6.7.8',
    ]);
    expect(stdout).toBe('forbidden\n');
  });

  it('are not reached with a wrong secret, or with none', async () => {
    const { output } = await thief.run(
      node(`
        const { request } = require('node:http');
        (async () => {
          for (const path of ['/engine/state', '/git/x/info/refs', 'http://example.com/']) for (const secret of ['', 'Bearer x', 'Basic eDp4', 'Bearer ' + 'x'.repeat(2000)])
            await new Promise((done) => request({ socketPath: '/run/replica/gateway.sock', path, headers: { authorization: secret, 'proxy-authorization': secret } }, (answer) => {
              console.log(answer.statusCode); answer.resume().on('end', done); }).end());
        })();`),
    );
    expect(output).toMatch(/^(401\n){8}(407\n){4}$/);
  });

  /** Asks a gateway to lead to each host, as a tunnel and as a plain request. */
  async function askProxy(socketPath: string, hosts: string[]): Promise<{ host: string; status: number }[]> {
    const { output } = await thief.run(
      node(`
        const { connect } = require('node:net');
        const credential = 'Proxy-Authorization: Bearer ' + process.env.REPLICA_ENGINE_SECRET;
        const ask = (head) => new Promise((done) => {
          let text = '';
          const socket = connect(${JSON.stringify(socketPath)}).on('data', (chunk) => { text += chunk; }).on('close', () => done(text)).on('error', () => {});
          socket.setTimeout(20_000, () => socket.destroy());
          socket.write(head + '\\r\\n' + credential + '\\r\\nConnection: close\\r\\n\\r\\n');
        });
        (async () => {
          for (const host of ${JSON.stringify(hosts)}) for (const head of ['CONNECT ' + host + ':${port} HTTP/1.1', 'GET http://' + host + ':${port}/ HTTP/1.1']) {
            const text = await ask(head);
            console.log(JSON.stringify({ host, status: text.includes('${canary}') ? 0 : Number(text.split(' ')[1]) }));
          }
        })();`),
    );
    const answers = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toHaveLength(2 * hosts.length);
    return answers;
  }
});

const neighbourPort = 9797;
const listenInBackground = `${node(`
  const { spawn } = require('node:child_process');
  const program = "const net = require('node:net'); net.createServer().listen('\\\\0replica-escape-neighbour'); net.createServer().listen(${neighbourPort}, '127.0.0.1', () => require('node:fs').writeFileSync('/tmp/listens', ''))";
  spawn(process.execPath, ['-e', program], { detached: true, stdio: 'ignore' }).unref();`)}
  for i in $(seq 100); do [ -e /tmp/listens ] && break; sleep 0.05; done`;
const dialOwn = `
  const { connect } = require('node:net');
  for (const target of [{ path: '\\0replica-escape-neighbour' }, { port: ${neighbourPort} }])
    connect(target, function () { console.log('connected'); this.destroy(); }).on('error', (error) => console.log(error.code));`;

function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address);
}

import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { place } from '../../engine/place.ts';
import { findLink } from '../namespace/find-link.ts';
import { BaseBuildError } from './isolated-command.ts';

/** Lets apt work inside a tree while it is being built. */
export function prepareTree(
  tree: string,
  { suite, mirrors }: { suite: string; mirrors: { main: string; security: string } },
): void {
  const { main, security } = mirrors;
  const sources = [
    `deb ${main} ${suite} main`,
    `deb ${main} ${suite}-updates main`,
    `deb ${security} ${suite}-security main`,
  ];
  // The unstable release is updated by itself.
  const used = suite === 'sid' || suite === 'unstable' ? sources.slice(0, 1) : sources;
  writeFileSync(path.join(tree, 'etc/apt/sources.list'), `${used.join('\n')}\n`);
  for (const file of ['etc/resolv.conf', 'etc/hosts']) {
    if (existsSync(`/${file}`))
      replaceFile(tree, file, () => copyFileSync(`/${file}`, path.join(tree, file)));
  }
  // Services that come with a package must not start on the machine that builds.
  writeFileSync(path.join(tree, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
}

/** Takes out what belongs to the machine that has built it, and makes the folders that sandboxes mount on. */
export function finishTree(tree: string): void {
  for (const folder of ['var/lib/apt/lists', 'var/log/apt', 'dev', 'tmp']) empty(path.join(tree, folder));
  for (const file of ['usr/sbin/policy-rc.d', 'var/log/bootstrap.log', 'var/log/dpkg.log']) {
    rmSync(path.join(tree, file), { force: true });
  }
  for (const [file, text] of Object.entries(ownFiles)) {
    replaceFile(tree, file, () => writeFileSync(path.join(tree, file), text, { mode: 0o644 }));
  }
  for (const folder of [place.home, path.dirname(place.node), place.gatewayFolder]) {
    refuseLink(tree, folder);
    mkdirSync(path.join(tree, folder), { recursive: true });
  }
  chmodSync(tree, 0o755);
}

const ownFiles: Record<string, string> = {
  'etc/hostname': 'replica\n',
  'etc/hosts': '127.0.0.1 localhost replica\n::1 localhost\n',
  // Names are resolved outside, by the gateway.
  'etc/resolv.conf': '',
  'etc/machine-id': '',
};

/** A package may have put a link in its place, which would lead out of the tree. */
function replaceFile(tree: string, file: string, write: () => void): void {
  rmSync(path.join(tree, file), { force: true });
  write();
}

/** Nothing is mounted over a link, and here it could lead to a folder of this machine. */
function refuseLink(tree: string, folder: string): void {
  const link = findLink(tree, [path.dirname(folder), folder]);
  if (link === undefined) return;
  throw new BaseBuildError(
    `The base cannot be built: a package has made ${link} a link, and a sandbox cannot be put together over a link. Leave that package out.`,
  );
}

function empty(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true, force: true });
}

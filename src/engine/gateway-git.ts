import path from 'node:path';
import type { BootPlan, BootRepository } from './protocol.ts';

/** Characters that can follow a repository's address in the address of another one. */
const FOLLOWING = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~'];

export function gitConfigurationFile(folder: string): string {
  return path.join(folder, 'gitconfig');
}

/**
 * What git reads in place of /etc/gitconfig, so that ~/.gitconfig and the repositories' own settings go before it: a
 * default identity, and the addresses that only begin like those of bound repositories.
 */
export function gitConfiguration({
  identity,
  repositories,
}: {
  identity: BootPlan['gitIdentity'];
  repositories: readonly BootRepository[];
}): string {
  return [
    section('include', [['path', '/etc/gitconfig']]),
    section('user', [
      ['name', identity.name],
      ['email', identity.email],
    ]),
    section('safe', [['directory', '*']]),
    ...repositories
      .flatMap(otherAddresses)
      .map((address) => section(`url "${quoted(address)}"`, [['insteadOf', address]])),
  ].join('');
}

/**
 * Leads git from the addresses people know to the gateway, and gives it the secret for that address only. All of it
 * stands in the environment, not in a file, because a disk may become a snapshot that others start from. Settings
 * somebody has put into the variables the same way are kept.
 */
export function gitVariables(
  { folder, secret, gatewayPort }: { folder: string; secret: string; gatewayPort: number },
  {
    variables,
    repositories,
  }: { variables: Readonly<Record<string, string>>; repositories: readonly BootRepository[] },
): Record<string, string> {
  const base = `http://127.0.0.1:${gatewayPort}/git/`;
  const settings = [
    [`http.${base}.extraHeader`, `Authorization: Bearer ${secret}`],
    ...repositories.flatMap((repository) =>
      addresses(repository).map((address) => [`url.${base}${repository.id}.insteadOf`, address]),
    ),
  ];
  const given = variables.GIT_CONFIG_COUNT ?? '';
  const start = /^\d{1,4}$/.test(given) ? Number(given) : 0;
  const numbered = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${start + index}`, key],
    [`GIT_CONFIG_VALUE_${start + index}`, value],
  ]);
  return {
    GIT_CONFIG_SYSTEM: gitConfigurationFile(folder),
    GIT_CONFIG_COUNT: String(start + settings.length),
    ...Object.fromEntries(numbered),
  };
}

function addresses({ url }: BootRepository): string[] {
  const plain = url.replace(/\/+$/, '').replace(/\.git$/, '');
  return [plain, `${plain}.git`];
}

/**
 * Git replaces the beginning of an address, and that of `…/app` is also the beginning of `…/app-web`. The longest
 * beginning wins: those that go on with another character are replaced by themselves.
 */
function otherAddresses(repository: BootRepository): string[] {
  return addresses(repository).flatMap((address) => FOLLOWING.map((character) => address + character));
}

function section(name: string, entries: readonly (readonly [string, string])[]): string {
  return `[${name}]\n${entries.map(([key, value]) => `\t${key} = "${quoted(value)}"\n`).join('')}`;
}

/** A line break or NUL would begin a setting of its own. */
function quoted(text: string): string {
  return text.replace(/[\p{Cc}]/gu, ' ').replace(/["\\]/g, (character) => `\\${character}`);
}

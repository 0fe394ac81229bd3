import { Command } from 'commander';
import { type Client, createClient } from '../client/client.ts';
import { loadConfig } from '../config.ts';
import { findBaseUrl, findBootstrap } from './connection.ts';
import { CommandError } from './error.ts';
import { fetchJwt, readSession, signIn, writeSession } from './session.ts';

type KeyOptions = { server?: string; personal?: boolean };

/** Keys are managed by people, so these commands use the login, or on the service's own machine its first admin. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('List, create and delete API keys (needs "replica login").');
  const scoped = (command: Command) =>
    command
      .option('--personal', "your own keys instead of the organization's")
      .option('--server <url>', 'address of the service');

  scoped(keys.command('list').description('List keys; the keys themselves are never shown again.')).action(
    async (options: KeyOptions) => {
      const client = await connect(options);
      const query = { limit: 100 };
      const page = options.personal
        ? await client.listPersonalApiKeys({ query })
        : await client.listOrgApiKeys({ query });
      for (const key of page.api_keys) {
        console.log([key.id, key.prefix, key.last_used_at ?? 'never used', key.name].join('  '));
      }
    },
  );
  scoped(keys.command('create <name>').description('Create a key and print it once.')).action(
    async (name: string, options: KeyOptions) => {
      const client = await connect(options);
      const body = { name };
      const made = options.personal
        ? await client.createPersonalApiKey({ body })
        : await client.createOrgApiKey({ body });
      console.log(made.key);
    },
  );
  scoped(keys.command('delete <id>').description('Delete a key; it stops working within a second.')).action(
    async (apiKeyId: string, options: KeyOptions) => {
      const client = await connect(options);
      const params = { apiKeyId };
      if (options.personal) await client.deletePersonalApiKey({ params });
      else await client.deleteOrgApiKey({ params });
      console.log(`deleted ${apiKeyId}`);
    },
  );
  return keys;
}

async function connect(options: KeyOptions): Promise<Client> {
  const baseUrl = findBaseUrl(options);
  return createClient({ baseUrl, token: await findJwt(baseUrl) });
}

/** The login of the person, else the first admin of this machine, whose session is kept like that of a login. */
export async function findJwt(baseUrl: string): Promise<string> {
  const session = readSession();
  const jwt = session?.baseUrl === baseUrl ? await fetchJwt(session) : null;
  if (jwt) return jwt;
  const admin = findBootstrap(loadConfig(process.env), baseUrl)?.admin;
  if (!admin) throw new CommandError('you are not signed in: run "replica login".');
  const fresh = await signIn(baseUrl, admin);
  writeSession(fresh);
  const made = await fetchJwt(fresh);
  if (!made) throw new CommandError('the service does not know the session it has just made; try again.');
  return made;
}

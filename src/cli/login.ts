import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { ApiError } from '../client/client.ts';
import { deviceClientId } from '../contract/account.ts';
import { findBaseUrl } from './connection.ts';
import { CommandError } from './error.ts';
import { post, type Session, signIn, writeSession } from './session.ts';

const deviceCode = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  expires_in: z.number(),
  interval: z.number(),
});

export function loginCommand(): Command {
  return new Command('login')
    .description('Sign in as a person: in the browser, or with --email and a password on standard input.')
    .option('--server <url>', 'address of the service')
    .option('--email <email>', 'sign in here with a password, read from standard input')
    .action(async (options: { server?: string; email?: string }) => {
      const baseUrl = findBaseUrl(options);
      const session = options.email
        ? await signIn(baseUrl, { email: options.email, password: await readPassword() })
        : await signInByDevice(baseUrl);
      console.log(`Signed in at ${baseUrl}; the session is kept in ${writeSession(session)}.`);
    });
}

/** RFC 8628: show a code, wait until the person has approved it in a browser. */
async function signInByDevice(baseUrl: string): Promise<Session> {
  const code = deviceCode.parse(await post(baseUrl, '/v1/auth/device/code', { client_id: deviceClientId }));
  console.log(
    `Open ${code.verification_uri_complete ?? code.verification_uri} and approve the code ${code.user_code}.`,
  );
  const until = Date.now() + code.expires_in * 1000;
  for (let intervalMs = code.interval * 1000; Date.now() < until; ) {
    await delay(intervalMs);
    const grant = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: code.device_code,
      client_id: deviceClientId,
    };
    try {
      const body = await post(baseUrl, '/v1/auth/device/token', grant);
      return { baseUrl, token: z.object({ access_token: z.string() }).parse(body).access_token };
    } catch (error) {
      const reason = error instanceof ApiError ? error.message : '';
      if (reason === 'slow_down') intervalMs += 5_000;
      else if (reason !== 'authorization_pending') throw error;
    }
  }
  throw new CommandError('the code was not approved in time: run "replica login" again.');
}

async function readPassword(): Promise<string> {
  if (process.stdin.isTTY) {
    const { isCancel, password } = await import('@clack/prompts');
    const typed = await password({ message: 'Password' });
    if (isCancel(typed)) throw new CommandError('no password was given.');
    return typed;
  }
  let text = '';
  for await (const chunk of process.stdin) text += chunk;
  return text.replace(/\r?\n$/, '');
}

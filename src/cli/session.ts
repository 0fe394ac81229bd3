import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { toApiError } from '../client/client.ts';
import { writePrivateFile } from '../lib/private-file.ts';

const session = z.object({ baseUrl: z.string(), token: z.string() });
export type Session = z.output<typeof session>;
const tokenAnswer = z.object({ token: z.string() });

/** The login of the person at this terminal, as `replica login` left it. */
export function readSession(): Session | null {
  try {
    return session.parse(JSON.parse(readFileSync(sessionFile(), 'utf8')));
  } catch {
    return null;
  }
}

export function writeSession(value: Session): string {
  const file = sessionFile();
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  writePrivateFile(file, `${JSON.stringify(value, null, 2)}\n`);
  return file;
}

/** Signs in with a password. */
export async function signIn(baseUrl: string, person: { email: string; password: string }): Promise<Session> {
  const answer = await post(baseUrl, '/v1/auth/sign-in/email', person);
  return { baseUrl, ...tokenAnswer.parse(answer) };
}

/** Exchanges the session for a short-lived JWT, which is what the API checks; null when the session has ended. */
export async function fetchJwt({ baseUrl, token }: Session): Promise<string | null> {
  const answer = await fetch(`${baseUrl}/v1/auth/token`, { headers: { authorization: `Bearer ${token}` } });
  if (answer.status === 401) return null;
  return tokenAnswer.parse(await readAnswer(answer)).token;
}

export async function post(baseUrl: string, route: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${baseUrl}${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return readAnswer(answer);
}

async function readAnswer(answer: Response): Promise<unknown> {
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw toApiError(answer, body);
  return body;
}

function sessionFile(): string {
  const folder = process.env.XDG_CONFIG_HOME || path.join(homedir(), '.config');
  return path.join(folder, 'replica', 'session.json');
}

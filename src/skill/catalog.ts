import { type Dispatcher, request } from 'undici';
import { AppError } from '../contract/error.ts';
import { guardedDispatcher } from '../lib/address-guard.ts';
import { type CatalogSkill, parseCatalogAnswer } from './catalog-answer.ts';

/** The external catalog of skills. Whatever goes wrong there is one kind of error here: `upstream_unavailable`. */
export type SkillCatalog = {
  search(query: string, signal: AbortSignal): Promise<CatalogSkill[]>;
  close(): Promise<void>;
};

type CatalogOptions = {
  url: string;
  /** For one search as a whole: connecting, redirects, and the last byte of the answer. */
  timeoutMs: number;
  /** Whether a redirect of the catalog may lead to a private address. */
  allowPrivateTargets: boolean;
};

const MAX_ANSWER_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;
const MAX_SKILLS = 50;

export function createSkillCatalog({ url, timeoutMs, allowPrivateTargets }: CatalogOptions): SkillCatalog {
  // The operator names the catalog, so its address may be private; where it redirects to is the catalog's word.
  const named = guardedDispatcher({ allowPrivateTargets: true, connectTimeoutMs: timeoutMs });
  const redirected = guardedDispatcher({ allowPrivateTargets, connectTimeoutMs: timeoutMs });

  async function fetchAnswer(query: string, signal: AbortSignal): Promise<string> {
    let target = searchUrl(url, query);
    let dispatcher = named;
    for (let redirects = 0; ; redirects++) {
      const answer = await request(target, { dispatcher, signal, headers: { accept: 'application/json' } });
      const next = redirectOf(answer, target);
      if (!next) return readAnswer(answer, signal);
      await discard(answer.body);
      const isDowngrade = target.protocol === 'https:' && next.protocol !== 'https:' && !allowPrivateTargets;
      if (isDowngrade || redirects === MAX_REDIRECTS)
        throw unavailable('The skill catalog redirects without end or to an insecure address.');
      target = next;
      dispatcher = redirected;
    }
  }

  return {
    async search(query, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const text = await fetchAnswer(query, AbortSignal.any([signal, timeout]));
        const skills = parseCatalogAnswer(text, { catalogUrl: url });
        if (!skills)
          throw unavailable('The skill catalog answered with something that is not a list of skills.');
        return skills.slice(0, MAX_SKILLS);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof AppError) throw error;
        if (timeout.aborted)
          throw unavailable(
            `The skill catalog did not answer within ${timeoutMs} ms; try again later.`,
            error,
          );
        throw unavailable('The skill catalog cannot be reached; try again later.', error);
      }
    },
    async close() {
      await Promise.all([named.destroy(), redirected.destroy()]);
    },
  };
}

function searchUrl(base: string, query: string): URL {
  const url = new URL(base);
  url.searchParams.set('q', query);
  url.searchParams.set('limit', String(MAX_SKILLS));
  return url;
}

function redirectOf(answer: Dispatcher.ResponseData, from: URL): URL | null {
  const location = answer.headers.location;
  if (![301, 302, 303, 307, 308].includes(answer.statusCode) || typeof location !== 'string') return null;
  const next = URL.parse(location, from.href);
  return next && /^https?:$/.test(next.protocol) ? next : null;
}

async function readAnswer(answer: Dispatcher.ResponseData, signal: AbortSignal): Promise<string> {
  if (answer.statusCode < 200 || answer.statusCode > 299) {
    await discard(answer.body);
    throw unavailable(
      `The skill catalog answered with the HTTP status ${answer.statusCode}; try again later.`,
    );
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    signal.throwIfAborted();
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) {
      throw unavailable(
        `The skill catalog answered with more than ${MAX_ANSWER_BYTES.toLocaleString('en')} bytes.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The rest of a body that nobody wants is not waited for. */
async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  body.on('error', () => {});
  body.destroy();
}

function unavailable(sentence: string, cause?: unknown): AppError {
  return new AppError('upstream_unavailable', sentence, null, cause);
}

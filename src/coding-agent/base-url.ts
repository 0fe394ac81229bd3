import { parseTargetUrl } from '../lib/target-url.ts';

type ParsedBaseUrl = { baseUrl: string; refusal: null } | { baseUrl: null; refusal: string };

/** Reads the address of a model API into the spelling that is kept, without a slash at the end. */
export function parseBaseUrl(given: string, options: { allowPrivateTargets: boolean }): ParsedBaseUrl {
  const { url, refusal } = parseTargetUrl(given, { field: 'base_url', ...options });
  if (!url) return { baseUrl: null, refusal };
  if (given.includes('?')) return { baseUrl: null, refusal: 'The base_url must not contain a query.' };
  return { baseUrl: url.href.replace(/\/+$/, ''), refusal: null };
}

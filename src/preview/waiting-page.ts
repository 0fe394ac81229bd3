import { RetryLaterError } from './retry-later.ts';

/** Shown to a browser while the replica behind a preview wakes up; it asks again by itself. */
export function waitingPage({ seconds }: { seconds: number }): {
  html: string;
  headers: Record<string, string>;
} {
  return {
    html: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Waking up</title>
<style>body{font:16px system-ui;display:grid;place-content:center;min-height:90vh;text-align:center}</style>
<p>The replica is waking up.<br>This page tries again by itself.</p>
</html>
`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      refresh: String(seconds),
    },
  };
}

/** Whether the page says more to whoever asks than the error body does. */
export function wantsWaitingPage(
  error: unknown,
  { method, accept }: { method: string | undefined; accept: string | undefined },
): error is RetryLaterError {
  const isWaking = error instanceof RetryLaterError && error.code === 'unavailable';
  return isWaking && method === 'GET' && (accept ?? '').includes('text/html');
}

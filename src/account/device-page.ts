import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../contract/operation.ts';
import type { RouteParts } from '../http/route.ts';
import { deviceScript, deviceStyle } from './device-page-assets.ts';
import type { Identity } from './identity.ts';
import { identityPath } from './identity-endpoints.ts';

const operation = {
  method: 'GET',
  path: '/device',
  tag: 'Login',
  summary: 'The page on which a person approves a device login',
  access: 'anyone',
  answers: {},
} as const satisfies Operation;

/** The page to which `replica login` sends a person: sign in, compare the code, approve or deny. */
export function registerDevicePage(
  app: FastifyInstance,
  { identity, admit }: { identity: Identity } & Pick<RouteParts, 'admit'>,
): void {
  // A proxy in front may put the service below a path, which the browser then has to use as well.
  const authPath = new URL(`${identity.baseUrl}${identityPath}`).pathname;
  app.route({
    method: 'GET',
    url: operation.path,
    config: { operation: 'devicePage' },
    onRequest: (request, reply) => admit(operation, request, reply),
    handler: async (_request, reply) => {
      const nonce = randomBytes(18).toString('base64');
      return reply
        .header('content-security-policy', contentSecurityPolicy(nonce))
        .header('x-frame-options', 'DENY')
        .header('referrer-policy', 'same-origin')
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(render({ nonce, authPath }));
    },
  });
}

/** Only our own script and style run, answers come from this service only, and no page may frame this one. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function render({ nonce, authPath }: { nonce: string; authPath: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sign in a device · Replica Service</title>
<style nonce="${nonce}">${deviceStyle}</style>
</head>
<body data-auth="${escapeAttribute(authPath)}">
<main>
<h1>Sign in a device</h1>
<noscript><p>This page needs JavaScript.</p></noscript>
<p id="problem" role="alert"></p>

<form id="sign-in" hidden>
<h2 tabindex="-1">Sign in</h2>
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="128">
<button type="submit">Sign in</button>
</form>

<form id="code" hidden>
<h2 tabindex="-1">Enter the code</h2>
<p>It is shown where you started to sign in.</p>
<label for="user-code">Code</label>
<input id="user-code" name="user-code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20">
<button type="submit">Continue</button>
</form>

<form id="confirm" hidden>
<h2 tabindex="-1">Approve this device?</h2>
<p><strong id="client"></strong> asks to act as <strong id="person"></strong>.</p>
<p>Its code: <output id="shown-code"></output></p>
<p>Approve only when you started this yourself and see the same code there.</p>
<button type="submit" name="decision" value="approve">Approve</button>
<button type="submit" name="decision" value="deny" class="quiet">Deny</button>
</form>

<section id="done" hidden>
<h2 tabindex="-1" id="outcome"></h2>
<p>You can close this page.</p>
</section>

<p id="signed-in" hidden>Signed in as <span id="who"></span>. <button type="button" id="sign-out" class="quiet">Sign out</button></p>
</main>
<script nonce="${nonce}">${deviceScript}</script>
</body>
</html>
`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}

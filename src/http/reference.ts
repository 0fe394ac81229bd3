import Fastify, { type FastifyInstance } from 'fastify';

const PAGE = '/reference';

/** `/openapi.json` and a page to browse it at `/reference`; the page loads nothing from elsewhere. */
export function registerReference(app: FastifyInstance, describe: () => Record<string, unknown>): void {
  let document: string | null = null;
  app.get('/openapi.json', async (_request, reply) => {
    document ??= JSON.stringify(describe());
    return reply.type('application/json; charset=utf-8').send(document);
  });

  // The page weighs megabytes and is seldom opened, so it is loaded when somebody does.
  let page: Promise<FastifyInstance> | null = null;
  for (const url of [PAGE, `${PAGE}/*`]) {
    app.get(url, async (request, reply) => {
      page ??= loadPage();
      const answer = await (await page).inject({ method: 'GET', url: request.url });
      if (answer.statusCode === 404) return reply.callNotFound();
      const { 'content-type': type, location } = answer.headers;
      if (location) reply.header('location', location);
      reply.header('x-frame-options', 'DENY').header('referrer-policy', 'no-referrer');
      return reply
        .code(answer.statusCode)
        .type(String(type ?? 'text/html'))
        .send(answer.rawPayload);
    });
  }
}

async function loadPage(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const page = Fastify();
  page.register(scalar, {
    routePrefix: PAGE,
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Replica Service API',
      showDeveloperTools: 'never',
      theme: 'none',
      withDefaultFonts: false,
      hideClientButton: true,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  });
  await page.ready();
  return page;
}

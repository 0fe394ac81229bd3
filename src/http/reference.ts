import scalar from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';

/** `/openapi.json` and a page to browse it at `/reference`; the page loads nothing from elsewhere. */
export function registerReference(app: FastifyInstance, document: Record<string, unknown>): void {
  const text = JSON.stringify(document);
  app.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(text),
  );
  app.register(scalar, {
    routePrefix: '/reference',
    configuration: {
      url: '/openapi.json',
      theme: 'none',
      withDefaultFonts: false,
      hideClientButton: true,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  });
}

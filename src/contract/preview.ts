import { z } from 'zod';
import { id, time } from './common.ts';
import { preferHeader } from './message.ts';
import type { Operation } from './operation.ts';
import { replicaParams } from './replica.ts';

const portError = 'must be a port, 1 to 65535';
const portNumber = z.int({ error: portError }).min(1, portError).max(65_535, portError);
const portParam = z
  .string()
  .regex(/^[1-9]\d{0,4}$/, portError)
  .transform(Number)
  .pipe(portNumber);

const preview = z
  .object({
    port: z.int(),
    publicUrl: z.string().describe('Where it answers. Needs a key or a link unless the preview is public.'),
    createdAt: time,
    public: z.boolean().describe('Whether it answers to anyone.'),
  })
  .meta({ id: 'Preview' });

const removed = z.object({ success: z.boolean(), port: z.int() }).meta({ id: 'RemovedPreview' });

const ofReplica = { tag: 'Previews', access: 'member', headers: z.object(preferHeader) } as const;
const previewParams = z.object({ id, port: portParam });

const ofAgent = {
  tag: 'Previews',
  access: 'anyone',
  credential: 'engine',
  params: z.object({ port: portParam }),
  headers: z.object({
    authorization: z.string().max(4_096).optional().describe('`Bearer` and the engine secret of the replica'),
    'x-workspace-id': id.describe('The id of the replica'),
  }),
} as const;

export const previewOperations = {
  listPreviews: {
    ...ofReplica,
    method: 'GET',
    path: '/v1/workspaces/{id}/previews',
    summary: 'List the previews of a replica',
    description: 'By port. Answered without waking the replica.',
    params: replicaParams,
    answers: { 200: z.object({ previews: z.array(preview) }) },
    errors: ['invalid_state'],
  },
  createPreview: {
    ...ofReplica,
    method: 'POST',
    path: '/v1/workspaces/{id}/previews',
    summary: 'Make a port of a replica reachable',
    description: [
      'Requests to `publicUrl` go to that port on the loopback of the workspace, WebSockets too. They need an API key of',
      'the organization as `Authorization: Bearer`, or come from a browser that has opened a link (see',
      '`POST …/previews/{port}/links`), unless the preview is public. A request wakes a sleeping replica and is answered',
      'with 503 and `Retry-After` until it is awake. A port that is registered already stays so; `public` changes it.',
      'At most 20 for a replica.',
      'Where the operator has set a preview domain, each preview has a host name, and so an origin, of its own. Under',
      '`/p/` previews share the origin of the API, so their pages are sandboxed there: scripts run, but have neither',
      'storage nor cookies, and what they fetch carries no session, so that it is refused unless the preview is public.',
    ].join(' '),
    params: replicaParams,
    body: z.object({
      port: portNumber,
      public: z
        .boolean()
        .optional()
        .describe('Whether anyone may see it; when absent, as it was, and false at first.'),
    }),
    answers: { 200: z.object({ preview }), 201: z.object({ preview }) },
    errors: ['invalid_state', 'limit_reached'],
  },
  createPreviewLink: {
    ...ofReplica,
    method: 'POST',
    path: '/v1/workspaces/{id}/previews/{port}/links',
    summary: 'Make a link that opens a preview in a browser',
    description:
      'Whoever opens the link within ten minutes sees the preview in that browser for twelve hours. Removing the preview ends that. The link leads to a host name of the preview where there is a domain for it, or where the service is on a loopback address: browsers know the names below `localhost`.',
    params: previewParams,
    answers: { 201: z.object({ link: z.object({ url: z.string(), expiresAt: time }) }) },
    errors: ['invalid_state'],
  },
  deletePreview: {
    ...ofReplica,
    method: 'DELETE',
    path: '/v1/workspaces/{id}/previews/{port}',
    summary: 'Remove a preview',
    params: previewParams,
    answers: { 200: removed },
    errors: ['invalid_state'],
  },
  createOwnPreview: {
    ...ofAgent,
    method: 'POST',
    path: '/v1/previews/{port}',
    summary: 'Make a port of the own replica reachable (agent mode)',
    description: 'For programs inside a replica. It is not public, or as public as it was.',
    answers: { 200: z.object({ preview }), 201: z.object({ preview }) },
    errors: ['unauthenticated', 'invalid_state', 'limit_reached'],
  },
  deleteOwnPreview: {
    ...ofAgent,
    method: 'DELETE',
    path: '/v1/previews/{port}',
    summary: 'Remove a preview of the own replica (agent mode)',
    answers: { 200: removed },
    errors: ['unauthenticated', 'invalid_state'],
  },
} as const satisfies Record<string, Operation>;

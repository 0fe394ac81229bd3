import type { IncomingMessage } from 'node:http';
import { AppError, notFound } from '../contract/error.ts';

/** What a git client wants of a repository. */
export type GitRequest = {
  repositoryId: string;
  service: 'upload-pack' | 'receive-pack';
  /** Whether it is the first request, which only asks what there is. */
  isFirst: boolean;
};

const id = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const paths = new RegExp(`^/git/(${id})(?:\\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`);

/** Reads one of the three requests of smart HTTP; everything else is refused. */
export function parseGitRequest({
  method,
  url = '',
  headers,
}: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): GitRequest {
  const [path = '', query = ''] = url.split('?', 2);
  const [, repositoryId, action] = paths.exec(path) ?? [];
  if (!repositoryId || !action) throw notFound('Path');
  const isFirst = action === 'info/refs';
  const service = serviceNamed(isFirst ? new URLSearchParams(query).get('service') : action);
  if (service === null) {
    throw new AppError('forbidden', 'Only the smart HTTP protocol of git is served; use git 1.6.6 or newer.');
  }
  if (method !== (isFirst ? 'GET' : 'POST')) {
    throw new AppError('invalid_request', `This path takes ${isFirst ? 'GET' : 'POST'} only.`);
  }
  if (!isFirst && headers['content-type'] !== `application/x-git-${service}-request`) {
    throw new AppError('unsupported_media_type', `Send the body as application/x-git-${service}-request.`);
  }
  return { repositoryId, service, isFirst };
}

function serviceNamed(name: string | null): GitRequest['service'] | null {
  if (name === 'git-upload-pack') return 'upload-pack';
  return name === 'git-receive-pack' ? 'receive-pack' : null;
}

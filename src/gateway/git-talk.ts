import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GitRemote } from '../git/remote.ts';
import type { GitRequest } from './git-request.ts';

/** `key` names the mirror: the organization and its repository. */
export type BoundRepository = { remote: GitRemote; key: string };

/** One request of a git client, with what it is about. */
export type GitTalk = {
  request: IncomingMessage;
  response: ServerResponse;
  asked: GitRequest;
  repository: BoundRepository;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
};

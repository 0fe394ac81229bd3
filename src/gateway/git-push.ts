import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { withDeadline } from '../git/deadline.ts';
import type { Mirrors } from '../git/mirror.ts';
import { checkRemote } from '../git/remote.ts';
import type { Serve } from '../git/serve.ts';
import type { Lookup } from '../lib/address-guard.ts';
import { withoutIdleLimit } from './answer.ts';
import { beginAnswer } from './git-answer.ts';
import type { GitTalk } from './git-talk.ts';
import { createPushCommands, type PushCommands, type RefUpdate } from './push-commands.ts';
import { openFilePushTarget } from './push-file.ts';
import { createHttpPushTarget } from './push-http.ts';
import { createPushReport } from './push-report.ts';
import type { PushTarget } from './push-target.ts';
import { streamBody } from './stream-body.ts';

type GitPushParts = {
  cacheDir: string;
  mirrors: Mirrors;
  serve: Serve;
  allowPrivateTargets: boolean;
  lookup: Lookup | undefined;
  maxBytes: number;
  timeoutMs: number;
};

const maxRefs = 10_000;

/** Passes a push on to the remote and returns the refs that the remote has changed. */
export function createGitPush({ mirrors, serve, maxBytes, timeoutMs, ...guard }: GitPushParts) {
  const toHttpTarget = createHttpPushTarget();

  async function openTarget({ repository, signal }: GitTalk): Promise<PushTarget> {
    const checked = await checkRemote(repository.remote, { ...guard, signal });
    return checked.isFile ? openFilePushTarget(checked, serve) : toHttpTarget(checked);
  }

  async function answer(talk: GitTalk): Promise<RefUpdate[]> {
    const { response, asked, repository, signal } = talk;
    const target = await openTarget(talk);
    beginAnswer(response, asked);
    if (asked.isFirst) {
      await target.advertise({ output: response, signal });
      response.end();
      return [];
    }
    const refs = await receive(target, talk).finally(() =>
      // Also when the answer was lost: the remote may have taken the push all the same.
      mirrors.markOld(repository),
    );
    response.end();
    return refs;
  }

  async function receive(target: PushTarget, { request, response, signal }: GitTalk): Promise<RefUpdate[]> {
    const commands = createPushCommands({ maxCommands: maxRefs });
    const heard = hearReport(commands);
    heard.output.pipe(response, { end: false });
    await target.receive({
      input: tap(streamBody(request, { maxBytes }), commands.read),
      inputBytes: plainLength(request),
      output: heard.output,
      signal,
      userAgent: request.headers['user-agent'],
    });
    const ended = once(heard.output, 'end', { signal });
    heard.output.end();
    await ended;
    return heard.updates();
  }

  return function answerPush(talk: GitTalk): Promise<RefUpdate[]> {
    // A host may think for minutes about what it was sent.
    return withoutIdleLimit(talk.request, () =>
      withDeadline({ signal: talk.signal, timeoutMs }, (signal) => answer({ ...talk, signal })),
    );
  };
}

function plainLength({ headers }: IncomingMessage): number | null {
  const length = headers['content-length'];
  return length === undefined || headers['content-encoding'] !== undefined ? null : Number(length);
}

/** The answer begins after the commands have been read, so they say in which form it comes. */
function hearReport(commands: PushCommands): { output: Transform; updates(): RefUpdate[] } {
  let report: ReturnType<typeof createPushReport> | null = null;
  const output = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      report ??= createPushReport({ hasSideBand: commands.hasCapability('side-band-64k'), maxRefs });
      report.read(chunk);
      done(null, chunk);
    },
  });
  const isReported = () =>
    commands.hasCapability('report-status') || commands.hasCapability('report-status-v2');
  return {
    output,
    updates: () =>
      commands.updates().filter(({ ref }) => !isReported() || (report?.accepted().has(ref) ?? false)),
  };
}

async function* tap(input: AsyncIterable<Buffer>, hear: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of input) {
    hear(chunk);
    yield chunk;
  }
}

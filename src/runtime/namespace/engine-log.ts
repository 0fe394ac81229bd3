import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { logName, type SandboxPaths } from './layout.ts';
import type { DiskKind } from './records.ts';
import { programEnvironment } from './run-program.ts';

const maxBytes = 2_000;

/**
 * The end of what the engine has written, as one harmless line. It is on the sandbox's own disk, where its size is
 * limited; an image is read without mounting it, so that a start at the same time is not disturbed.
 */
export async function readEngineLog(
  paths: SandboxPaths,
  { disk, secret }: { disk: DiskKind; secret: string | null },
): Promise<string> {
  const tail = disk === 'image' ? readFromImage(paths.image) : readFromFolder(path.join(paths.disk, logName));
  const text = printable((await tail.catch(() => Buffer.alloc(0))).toString('utf8'));
  return secret ? text.replaceAll(secret, '[secret]') : text;
}

async function readFromFolder(file: string): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(maxBytes),
      0,
      maxBytes,
      Math.max(0, size - maxBytes),
    );
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function readFromImage(image: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('debugfs', ['-R', `cat ${logName}`, image], {
      env: programEnvironment,
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 2_000,
      killSignal: 'SIGKILL',
    });
    let tail: Buffer = Buffer.alloc(0);
    child.stdout.on('data', (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-maxBytes);
    });
    child.once('error', reject);
    child.once('close', () => resolve(tail));
  });
}

/** Control characters and line ends of a hostile writer do not reach an error or a terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
}

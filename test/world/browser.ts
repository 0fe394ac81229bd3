import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIMIT_MS = 60_000;

/** A Chromium of this machine; undefined where none is installed. */
export const browser = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);

/** The document that a browser without a window has made of an address when everything of the page is loaded. */
export async function readPage(url: string): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-browser-'));
  try {
    const options = [
      '--headless',
      // The browser refuses to have a sandbox of its own when it runs as root.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-proxy-server',
      `--user-data-dir=${folder}`,
      '--dump-dom',
    ];
    const env = { ...process.env, HOME: folder, TMPDIR: folder };
    const { stdout } = await run(browser ?? 'chromium', [...options, url], { env, timeout: LIMIT_MS });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

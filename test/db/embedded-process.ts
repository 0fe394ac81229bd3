/** A separate process for the tests: starts the embedded server, says so in one line of JSON, and waits to be killed. */
import { startEmbeddedPostgres } from '../../src/db/embedded/start.ts';

const [dataDir = '', ending = 'wait'] = process.argv.slice(2);
const postgres = await startEmbeddedPostgres({ dataDir });
process.stdout.write(`${JSON.stringify({ pid: postgres.pid, adopted: postgres.adopted })}\n`);
if (ending === 'wait') await new Promise((resolve) => process.stdin.on('end', resolve).resume());
if (ending === 'stop') await postgres.stop();

/*
 * Prints an event as GitHub sends it, recorded by the makers of Octokit, as if it were of your repository:
 *
 *   node docs/examples/github-event.ts pull_request opened "$GIT_URL" > event.json
 */
import { recordedAt } from '../../test/world/github-event.ts';

const [name = 'pull_request', action = 'opened', url = ''] = process.argv.slice(2);
process.stdout.write(JSON.stringify(recordedAt(url, name, action)));

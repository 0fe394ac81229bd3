import { loadConfig } from '../../src/config.ts';
import { createLog } from '../../src/lib/log.ts';
import { startService } from '../../src/main.ts';
import { webhookTimes } from '../../src/webhook/times.ts';

/** The service, whose deliveries are tried again sooner and left to others sooner when it is killed. */
await startService({
  config: loadConfig(process.env),
  log: createLog('warn'),
  replaced: { webhookTimes: { ...webhookTimes, backOffMs: [50, 100, 200], leaseMs: 2_000, limitMs: 1_500 } },
});

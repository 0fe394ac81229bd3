import { parseArgs } from 'node:util';
import { measureDeliveries } from './measure-deliveries.ts';
import { measureIdleAutomations } from './measure-idle-automations.ts';
import { measureInbound } from './measure-inbound.ts';
import { printTable } from './table.ts';

/** Events in, events out, and what automations cost that wait for them. */
export async function benchWebhook(options: string[]): Promise<void> {
  parseArgs({ args: options, options: {} });
  printTable([
    ...(await measureInbound()),
    ...(await measureDeliveries()),
    ...(await measureIdleAutomations()),
  ]);
}

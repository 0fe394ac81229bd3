import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { createCronLoop } from './automation/cron-loop.ts';
import { customWebhookHandlers } from './automation/custom-handlers.ts';
import { createCustomWebhookService } from './automation/custom-webhook.ts';
import { createDebounceLoop } from './automation/debounce-loop.ts';
import { createExecutions } from './automation/executions.ts';
import { createFiring } from './automation/firing.ts';
import { automationHandlers } from './automation/handlers.ts';
import { createListen } from './automation/listen.ts';
import { createRuns } from './automation/run.ts';
import { createAutomationService } from './automation/service.ts';
import { automationSchedule, automationTasks } from './automation/worker.ts';
import type { ChatService } from './chat/service.ts';
import type { EndedTurn } from './chat/turns.ts';
import type { CodingAgentService } from './coding-agent/service.ts';
import type { Config } from './config.ts';
import type { Db } from './db/database.ts';
import type { EnvironmentService } from './environment/service.ts';
import { gitEventHandlers } from './git-event/handlers.ts';
import { createGitEventService } from './git-event/service.ts';
import { gitEventSchedule, gitEventTasks } from './git-event/worker.ts';
import type { GitHostService } from './git-host/service.ts';
import { createInboundService } from './inbound/service.ts';
import { inboundSchedule, inboundTasks } from './inbound/worker.ts';
import { guardedDispatcher, type Lookup } from './lib/address-guard.ts';
import { createLookup } from './lib/lookup.ts';
import type { PullRequestService } from './pull-request/service.ts';
import type { Moved, ReplicaService } from './replica/service.ts';
import type { RepositoryService } from './repository/service.ts';
import type { Sealer } from './secret/seal.ts';
import { createCourier } from './webhook/courier.ts';
import { webhookHandlers } from './webhook/handlers.ts';
import { createSend } from './webhook/send.ts';
import { createWebhookService } from './webhook/service.ts';
import type { WebhookTimes } from './webhook/times.ts';
import { webhookSchedule, webhookTasks } from './webhook/worker.ts';
import { createLoop, type Loop } from './work/loop.ts';
import type { Schedule } from './work/schedule.ts';
import type { Signals } from './work/signal.ts';
import type { Tasks } from './work/task.ts';

type Parts = {
  config: Config;
  log: Logger;
  baseUrl: string;
  db: Db;
  signals: Signals;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
  environments: EnvironmentService;
  hosts: GitHostService;
  repositories: RepositoryService;
  codingAgents: CodingAgentService;
  replicas: ReplicaService;
  chats: ChatService;
  pullRequests: Pick<PullRequestService, 'onGitEvent' | 'isOwnComment'>;
  webhookTimes: WebhookTimes;
  /** Replaces the system's resolver of names. */
  lookup?: Lookup | undefined;
};

/** The part of the wiring that starts replicas without a caller, and tells others what becomes of them. */
export function wireAutomations(parts: Parts) {
  const { config, log, db, now, webhookTimes: times } = parts;
  const { allowPrivateTargets } = config;
  const { lookup = createLookup({ asksSystem: allowPrivateTargets }) } = parts;
  const webhooks = createWebhookService(parts);
  const dispatcher = guardedDispatcher({ allowPrivateTargets, lookup });
  const courier = createCourier({
    ...parts,
    send: createSend({ dispatcher, allowPrivateTargets, limitMs: times.limitMs }),
    times,
    random: Math.random,
  });
  const executions = createExecutions(parts);
  const runs = createRuns({ ...parts, executions });
  const automations = createAutomationService({
    ...parts,
    allowPrivateTargets,
    executions,
    runs,
    randomBytes,
  });
  const firing = createFiring({ executions, now });
  const inbound = createInboundService({ now });
  const customWebhooks = createCustomWebhookService({ ...parts, firing, inbound });
  const gitEvents = createGitEventService({ ...parts, inbound, allowPrivateTargets });
  // Replicas are held before automations.
  const takers = [parts.pullRequests.onGitEvent, createListen({ ...parts, firing })];

  const loops: Loop[] = [
    createLoop({ name: 'webhook.courier', intervalMs: times.lookMs, run: courier.run, log }),
    createCronLoop({ db, log, now, executions }),
    createDebounceLoop({ db, log, now, firing }),
  ];
  const tasks: Tasks = [
    ...webhookTasks({ db, now }),
    ...automationTasks({ db, runs, executions }),
    ...inboundTasks({ db, inbound }),
    ...gitEventTasks({ db, gitEvents, takers, now }),
  ];
  const schedule: readonly Schedule[] = [
    ...webhookSchedule,
    ...automationSchedule,
    ...inboundSchedule,
    ...gitEventSchedule,
  ];

  return {
    handlers: {
      ...webhookHandlers(webhooks),
      ...automationHandlers({ automations, now }),
      ...customWebhookHandlers(customWebhooks),
      ...gitEventHandlers(gitEvents),
    },
    /** What is to be delivered, for those who watch over the service. */
    countDeliveries: () => webhooks.count(db),
    tasks,
    schedule,
    loops,
    /** In the transaction of a replica's move. */
    async onMoved(tx: Db, moved: Moved): Promise<void> {
      await webhooks.onMoved(tx, moved);
      await executions.onMoved(tx, moved);
    },
    /** In the transaction of a turn's end. */
    async onTurnEnded(tx: Db, ended: EndedTurn): Promise<void> {
      await webhooks.onTurnEnded(tx, ended);
      await executions.onTurnEnded(tx, ended);
    },
    /** In the transaction in which somebody leaves an organization. */
    onMemberRemoved: automations.removePersonal,
    async close(): Promise<void> {
      await courier.close();
      await dispatcher.destroy();
    },
  };
}

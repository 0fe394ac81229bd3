import path from 'node:path';
import type { Logger } from 'pino';
import { canvasHandlers } from './canvas/handlers.ts';
import { createCanvasService } from './canvas/service.ts';
import { createEngineTurns } from './chat/engine-turns.ts';
import { createHandOver } from './chat/hand-over.ts';
import { chatHandlers } from './chat/handlers.ts';
import { createChatService } from './chat/service.ts';
import { chatSchedule, chatTasks } from './chat/worker.ts';
import type { CodingAgentService } from './coding-agent/service.ts';
import type { Config } from './config.ts';
import type { Db } from './db/database.ts';
import { createContactLog } from './egress/contact-log.ts';
import { egressHandlers } from './egress/handlers.ts';
import { createEgressService } from './egress/service.ts';
import type { EnvironmentService } from './environment/service.ts';
import type { EnvironmentFileService } from './environment-file/service.ts';
import { createFollowEvents } from './event/follow.ts';
import { eventHandlers } from './event/handlers.ts';
import { createSnapshot } from './event/snapshot.ts';
import { createStreamEvents } from './event/stream.ts';
import { createEventTails } from './event/tail.ts';
import { eventSchedule, eventTasks } from './event/worker.ts';
import { createEgress } from './gateway/egress.ts';
import { createEngineEvents } from './gateway/engine-events.ts';
import { createEngineRoutes } from './gateway/engine-routes.ts';
import { createGitRoute } from './gateway/git.ts';
import { startGateway } from './gateway/server.ts';
import type { Git } from './git/git.ts';
import { createMirrors } from './git/mirror.ts';
import type { GitHostService } from './git-host/service.ts';
import type { HookService } from './hook/service.ts';
import { hookLogHandlers } from './hook-run/handlers.ts';
import { createHookRunService } from './hook-run/service.ts';
import { createFollowTest } from './hook-test/follow.ts';
import { hookTestHandlers } from './hook-test/handlers.ts';
import { createHookTestService } from './hook-test/service.ts';
import { createHookTestWorker } from './hook-test/worker.ts';
import type { Lookup } from './lib/address-guard.ts';
import { makeFolder } from './lib/make-folder.ts';
import type { McpService } from './mcp/service.ts';
import type { ModelPrices } from './model/price.ts';
import { createPreviewAddresses } from './preview/address.ts';
import { createPreviewRoute } from './preview/gateway-route.ts';
import { previewHandlers } from './preview/handlers.ts';
import { createPasses } from './preview/pass.ts';
import { createPreviewService } from './preview/service.ts';
import { createSummarizeTurn } from './pull-request/turn-summary.ts';
import { createDescribeEnvironment } from './replica/describe.ts';
import { replicaHandlers } from './replica/handlers.ts';
import { purgeTasks } from './replica/purge.ts';
import { createReplicaReports } from './replica/reports.ts';
import { createReplicaService } from './replica/service.ts';
import { createShadowService } from './replica/shadow.ts';
import { createReplicaStart } from './replica/start.ts';
import { createStepRecorder } from './replica/steps.ts';
import { createReplicaSweep } from './replica/sweep.ts';
import { replicaTasks } from './replica/worker.ts';
import type { RepositoryService } from './repository/service.ts';
import { engineBundle } from './runtime/engine-bundle.ts';
import { readMachine } from './runtime/machine.ts';
import { raiseKernelLimits } from './runtime/namespace/kernel-limits.ts';
import { createRuntimeReadiness } from './runtime/readiness.ts';
import type { openDriver } from './runtime/registry.ts';
import { limitsOf, type Size } from './runtime/size.ts';
import { createEngineWatch } from './sandbox/engine-watch.ts';
import { loadHostId } from './sandbox/host.ts';
import { createSandboxService, type SandboxIdentity } from './sandbox/service.ts';
import type { SilenceTimes } from './sandbox/silence.ts';
import { createSandboxWatch } from './sandbox/watch.ts';
import { sandboxTasks } from './sandbox/worker.ts';
import type { SandboxTierService } from './sandbox-tier/service.ts';
import type { Sealer } from './secret/seal.ts';
import type { SkillService } from './skill/service.ts';
import type { SkillRegistryService } from './skill-registry/service.ts';
import { createEngineTerminals } from './terminal/engine-terminals.ts';
import { terminalHandlers } from './terminal/handlers.ts';
import { createTerminalService } from './terminal/service.ts';
import { usageHandlers } from './usage/handlers.ts';
import { createUsageService } from './usage/service.ts';
import type { VariableService } from './variable/service.ts';
import { createClaim, createFindLayer } from './warm-pool/claim.ts';
import { createFollowWorkspace } from './warm-pool/follow.ts';
import { createWarmPoolWorker } from './warm-pool/worker.ts';
import { warmWorkspaceHandlers } from './warm-pool/workspace-handlers.ts';
import { createWarmWorkspaceService } from './warm-pool/workspaces.ts';
import type { WebhookTimes } from './webhook/times.ts';
import { wireAgents } from './wire-agents.ts';
import { wireAutomations } from './wire-automations.ts';
import { createLoop } from './work/loop.ts';
import type { Signals } from './work/signal.ts';
import { createWorkspacePlanner } from './workspace-plan/service.ts';

type Parts = {
  config: Config;
  log: Logger;
  baseUrl: string;
  /** Connections for work beside requests. */
  db: Db;
  signals: Signals;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
  git: Git;
  hosts: GitHostService;
  tiers: SandboxTierService;
  environments: EnvironmentService;
  variables: VariableService;
  files: EnvironmentFileService;
  mcps: McpService;
  hooks: HookService;
  skills: SkillService;
  registries: SkillRegistryService;
  repositories: RepositoryService;
  codingAgents: CodingAgentService;
  prices: ModelPrices;
  openDriver: typeof openDriver;
  silenceTimes: SilenceTimes;
  webhookTimes: WebhookTimes;
  lookup?: Lookup | undefined;
};

/** The part of the wiring that needs sandboxes: replicas, warm pools, hook tests, and the gateway they speak to. */
export async function wireReplicas(parts: Parts) {
  const { config, log, db, signals, sealer, newId, now, environments, repositories, hooks } = parts;
  const { dataDir, allowPrivateTargets, warmPoolSize: targetSize } = config;
  const { tierOf } = parts.tiers;
  const stallMs = config.stallSeconds * 1_000;
  const common = { newId, now, sealer, signals };

  const gatewayFolder = path.join(dataDir, 'runtime', 'gateway');
  makeFolder(gatewayFolder);
  const engine = config.runtime === 'fake' ? null : engineBundle();
  const driver = await parts.openDriver({
    name: config.runtime,
    acceptsNoIsolation: config.acceptNoIsolation,
    dataDir,
    base: config.sandboxBase,
    engine: engine ?? { bundle: '' },
    gatewayFolder,
    agentsFolder: config.agentsDir,
    log,
  });
  const readiness = createRuntimeReadiness({ driver, monotonicMs: () => performance.now() });
  const machine = readMachine();
  const sandboxes = createSandboxService({
    ...common,
    driver,
    hostId: loadHostId(dataDir, newId),
    limitsOf: (size) => limitsOf(size as Size, machine).limits,
    engineEnvironment: engine?.environment ?? {},
  });
  const { hostId } = sandboxes;

  const planner = createWorkspacePlanner({
    ...parts,
    catalogUrl: config.skillCatalogUrl,
    allowPrivateTargets,
  });
  const compose = (wanted: Parameters<typeof planner.compose>[1]) => planner.compose(db, wanted);
  const hookRuns = createHookRunService({ now });
  const usage = createUsageService({ newId });
  const canvas = createCanvasService({ now });
  const egress = createEgressService({
    environments,
    operator: { mode: config.egressMode, hosts: config.egressHosts },
  });
  const contacts = createContactLog({ db, now });

  const replicas = createReplicaService({
    ...common,
    environments,
    repositories,
    usage,
    allowPrivateTargets,
    hostId,
    claim: createClaim({ sandboxes, tierOf, now }),
    release: sandboxes.release,
    onMoved: (tx, moved) => automations.onMoved(tx, moved),
    onFailed: (tx, row) => chats.giveUp(tx, row, row.error_message ?? 'The replica has failed.'),
    policyTimes: {
      autoSleepMs: config.autoSleepSeconds * 1_000,
      deleteAfterInactivityMs: config.deleteAfterInactivitySeconds * 1_000,
      deleteAfterSleepMs: config.deleteAfterSleepSeconds * 1_000,
    },
  });
  const chats = createChatService({
    ...common,
    replicas,
    hasCredential: parts.codingAgents.has,
    isOfflineModelOn: config.offlineModel,
    noticeOf: (tx, key) => agents.offline.noticeOf(tx, key),
    summarizeTurn: createSummarizeTurn({ replicas }),
    onTurnEnded: (tx, ended) => automations.onTurnEnded(tx, ended),
    mayStart: (tx, replicaId) => agents.budgets.mayStart(tx, replicaId),
    handOver: (row, turn) => handOver.begin(row, turn),
    hostId,
  });
  const addresses = createPreviewAddresses({ baseUrl: parts.baseUrl, domain: config.previewDomain });
  const passes = createPasses({ sealer, now });
  const previews = createPreviewService({ replicas, urlOf: addresses.urlOf, now });
  const agents = wireAgents({ ...parts, replicas, chats, previews, canvas });
  const engineTurns = createEngineTurns({ db, sandboxes });
  const handOver = createHandOver({
    db,
    turns: chats.turns,
    replicas,
    engine: engineTurns,
    composeTurn: agents.composeTurn,
    log,
    now,
  });
  const { pullRequests } = agents;
  const automations = wireAutomations({ ...parts, replicas, chats, pullRequests });
  const terminals = createTerminalService({ replicas, engine: createEngineTerminals({ sandboxes }), now });
  const reports = createReplicaReports({ replicas, hookRuns, chats, newId, now });
  const start = createReplicaStart({
    db,
    replicas,
    sandboxes,
    hookRuns,
    chats,
    compose,
    findLayer: createFindLayer({ db, sandboxes }),
    tierOf,
    recordSteps: (row) => createStepRecorder({ db, row, newId, now }),
  });
  const sweep = createReplicaSweep({ db, replicas, sandboxes, stallMs, log, now });
  const workspaces = createWarmWorkspaceService({ ...common, sandboxes, hookRuns, targetSize, tierOf });
  const pools = createWarmPoolWorker({
    db,
    workspaces,
    sandboxes,
    hookRuns,
    compose,
    targetSize,
    defaultSize: config.sandboxSize,
    stallMs,
    now,
  });
  const tests = createHookTestService({ ...common, environments, hooks, hookRuns, sandboxes, tierOf });
  const testWorker = createHookTestWorker({ db, tests, sandboxes, hookRuns, compose, now });

  const events = createEngineEvents({
    db,
    sandboxes,
    takers: { replica: reports.take, warm_pool: workspaces.take, hook_test: tests.take },
  });
  const cacheDir = path.join(dataDir, 'git');
  /** A replica may reach what it has checked out; a workspace that is being warmed, what its environment is bound to. */
  const resolveRepository = async (identity: SandboxIdentity, repositoryId: string) => {
    const { organizationId, replicaId } = identity;
    if (!replicaId) return planner.bindingOf(db, { ...identity, repositoryId });
    if (!(await replicas.hasRepository(db, { replicaId, repositoryId }))) return null;
    const remote = await repositories.remoteById(db, { organizationId, id: repositoryId });
    return remote && { remote, key: `${organizationId}/${repositoryId}` };
  };
  const mirrors = createMirrors({ cacheDir, allowPrivateTargets, log });
  const watch = createSandboxWatch({
    db,
    driver,
    sandboxes,
    onStopped: { replica: sweep.onStopped, warm_pool: pools.onStopped, hook_test: testWorker.onStopped },
    log,
    now,
  });
  const { silenceTimes: times } = parts;
  const engines = createEngineWatch({ db, sandboxes, times, log, monotonicMs: () => performance.now() });
  const loop = (name: string, intervalMs: number, run: (signal: AbortSignal) => Promise<void>) =>
    createLoop({ name, intervalMs, run, log });
  const loops = [
    loop('sandbox.beat', 5_000, watch.beat),
    loop('sandbox.watch', 1_000, watch.look),
    loop('sandbox.engines', times.lookMs, engines.look),
    loop('replica.policies', 1_000, sweep.applyPolicies),
    loop('replica.unstick', 1_000, sweep.unstick),
    loop('warm_pool.reconcile', 1_000, pools.reconcile),
    loop('hook_test.sweep', 5_000, testWorker.sweep),
    loop('egress.contacts', 1_000, contacts.write),
    loop('pull_request.contacts', 500, agents.contactWatch.pass),
    loop('chat.unsent', 1_000, () => chats.turns.requestUnsent(db)),
    loop('git.mirrors', 600_000, mirrors.sweep),
    ...automations.loops,
  ];
  let gateway: Awaited<ReturnType<typeof startGateway>> | null = null;

  return {
    handlers: {
      ...replicaHandlers({
        replicas,
        chats,
        signals,
        now,
        describeEnvironment: createDescribeEnvironment({
          hookRuns,
          codingAgents: parts.codingAgents,
          offline: agents.offline,
          replicas,
          hosts: parts.hosts,
        }),
      }),
      ...chatHandlers({ chats, replicas }),
      ...egressHandlers({ egress, replicas }),
      ...eventHandlers({
        replicas,
        streamEvents: createStreamEvents({
          follow: createFollowEvents({ tails: createEventTails({ db, signals, log }) }),
          takeSnapshot: createSnapshot({ replicas, chats, sources: [previews.snapshot] }),
          now,
        }),
      }),
      ...canvasHandlers({ canvas, replicas }),
      ...previewHandlers({ previews, passes, sandboxes, browserUrlOf: addresses.browserUrlOf }),
      ...terminalHandlers({ terminals, newId, now }),
      ...hookLogHandlers({ replicas }),
      ...usageHandlers({ usage, ledger: agents.ledger, now }),
      ...agents.handlers,
      ...automations.handlers,
      ...warmWorkspaceHandlers({ follow: createFollowWorkspace({ signals }) }),
      ...hookTestHandlers({
        tests,
        hooks,
        hookRuns,
        follow: createFollowTest({ tests, hookRuns, signals }),
      }),
    },
    tasks: [
      ...replicaTasks({ db, replicas, sandboxes, start, chats, signals, now }),
      ...purgeTasks({ db }),
      ...chatTasks({ db, chats, replicas, engine: engineTurns, handOver, hostId, now }),
      ...sandboxTasks({ db, sandboxes }),
      ...eventTasks({ db, now }),
      ...pools.tasks,
      ...testWorker.tasks,
      ...agents.tasks,
      ...automations.tasks,
    ],
    /** What answers to requests for previews. */
    previews: { addresses, passes, previews, replicas, sandboxes, now },
    schedule: [...chatSchedule, ...eventSchedule, ...automations.schedule],
    check: readiness.check,
    countDeliveries: automations.countDeliveries,
    onMemberRemoved: automations.onMemberRemoved,
    /** Opens the door for engines that are already running. */
    async start() {
      if (config.runtime === 'namespace') raiseKernelLimits({ log });
      // Requests are served all the same: what exists can be read, and the operator sees why nothing new starts.
      readiness.check().catch((error: unknown) => log.error({ err: error }, 'runtime.unusable'));
      gateway = await startGateway({
        folder: gatewayFolder,
        authenticate: (secret) => sandboxes.identify(db, secret),
        routes: [
          {
            prefix: '/engine/',
            handle: createEngineRoutes({ db, events, canvas, shadows: createShadowService({ now }) }),
          },
          createPreviewRoute({ db, previews }),
          ...agents.routes,
          createGitRoute({
            cacheDir,
            mirrors,
            allowPrivateTargets,
            resolveRepository,
            onPushed: agents.pullRequests.tracking.onPushed,
            log,
          }),
        ],
        egress: createEgress({
          policyOf: (identity) => egress.policyOf(db, identity),
          record: (identity, contact) => {
            contacts.record(identity.replicaId, contact);
            agents.contactWatch.record(identity, contact);
          },
          allowPrivateTargets,
        }),
        log,
      });
      for (const each of loops) each.start();
    },
    async stop() {
      await handOver.close();
      for (const each of loops) await each.stop();
      await gateway?.close();
      await contacts.write().catch(() => {});
      await mirrors.close();
      await agents.close();
      await automations.close();
      await planner.close();
      await driver.close();
    },
  };
}

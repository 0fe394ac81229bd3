import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import type { Logger } from 'pino';
import { createAuthenticator } from './account/authenticate.ts';
import { bootstrapFirstOrganization, type FirstStart } from './account/bootstrap.ts';
import { accountHandlers } from './account/handlers.ts';
import { createIdentity } from './account/identity.ts';
import { registerIdentityRoutes } from './account/identity-routes.ts';
import { loadIdentitySecret } from './account/identity-secret.ts';
import { createAccountService } from './account/service.ts';
import { accountSchedule, accountTasks } from './account/worker.ts';
import { codingAgentHandlers } from './coding-agent/handlers.ts';
import { createCodingAgentService } from './coding-agent/service.ts';
import type { Config } from './config.ts';
import { openApiDocument } from './contract/openapi.ts';
import { type Operations, operations } from './contract/operations.ts';
import { type Database, openDatabase } from './db/database.ts';
import { environmentHandlers } from './environment/handlers.ts';
import { createEnvironmentService } from './environment/service.ts';
import { environmentFileHandlers } from './environment-file/handlers.ts';
import { createEnvironmentFileService } from './environment-file/service.ts';
import { createGit } from './git/git.ts';
import { createAppTokens } from './git-host/app-token.ts';
import { createGitHostService } from './git-host/service.ts';
import { hookHandlers } from './hook/handlers.ts';
import { createHookService } from './hook/service.ts';
import { createAdmit } from './http/admit.ts';
import { createApp } from './http/app.ts';
import type { Handlers, LooseHandler } from './http/handler.ts';
import { registerHealth } from './http/health.ts';
import { createMetrics } from './http/metrics.ts';
import { registerReference } from './http/reference.ts';
import type { RouteParts } from './http/route.ts';
import { createTokenBuckets } from './http/token-bucket.ts';
import { httpSchedule, httpTasks } from './http/worker.ts';
import type { Lookup } from './lib/address-guard.ts';
import { newId } from './lib/ids.ts';
import { version } from './lib/version.ts';
import { mcpHandlers } from './mcp/handlers.ts';
import { createMcpService } from './mcp/service.ts';
import { loadModelPrices } from './model/price-file.ts';
import { registerPreviews } from './preview/routes.ts';
import { repositoryHandlers } from './repository/handlers.ts';
import { createRepositoryService } from './repository/service.ts';
import { repositorySetHandlers } from './repository/set-handlers.ts';
import { createRepositorySetService } from './repository/set-service.ts';
import { repositorySchedule, repositoryTasks } from './repository/worker.ts';
import { repositoryCredentialHandlers } from './repository-credential/handlers.ts';
import { createRepositoryCredentialService } from './repository-credential/service.ts';
import { openDriver } from './runtime/registry.ts';
import { type SilenceTimes, silenceTimes } from './sandbox/silence.ts';
import { sandboxTierHandlers } from './sandbox-tier/handlers.ts';
import { createSandboxTierService } from './sandbox-tier/service.ts';
import type { Sealer } from './secret/seal.ts';
import { createSkillCatalog } from './skill/catalog.ts';
import { skillHandlers } from './skill/handlers.ts';
import { createSkillService } from './skill/service.ts';
import { skillRegistryHandlers } from './skill-registry/handlers.ts';
import { createSkillRegistryService } from './skill-registry/service.ts';
import { skillRegistrySchedule, skillRegistryTasks } from './skill-registry/worker.ts';
import { variableHandlers } from './variable/handlers.ts';
import { createVariableService } from './variable/service.ts';
import { warmPoolHandlers } from './warm-pool/handlers.ts';
import { createWarmPoolService } from './warm-pool/service.ts';
import { type WebhookTimes, webhookTimes } from './webhook/times.ts';
import { wireReplicas } from './wire-replicas.ts';
import { startWorkers, type Workers } from './work/runner.ts';
import { createSignals } from './work/signal.ts';

type WireOptions = {
  config: Config;
  log: Logger;
  database: Database;
  sealer: Sealer;
  baseUrl: string;
  replaced?: Replaced | undefined;
  inspectAnswer?: RouteParts['inspectAnswer'];
};

/** Parts that tests bring along: a driver that fails on demand, a clock that they move, less patience. */
export type Replaced = {
  openDriver?: typeof openDriver;
  now?: () => Date;
  silenceTimes?: SilenceTimes;
  webhookTimes?: WebhookTimes;
  /** Resolves the names of receivers of webhooks. */
  lookup?: Lookup;
};

export type Wired = {
  app: FastifyInstance;
  /** Makes the first organization when there is none; `persist` keeps its credentials before they count. */
  bootstrap(persist: (result: FirstStart) => Promise<void>): Promise<FirstStart | null>;
  /** Starts what works beside requests. */
  start(): Promise<void>;
  /** Ends requests first, then jobs, then the rest. */
  stop(): Promise<void>;
};

/** Buckets kept at once; a caller beyond that starts with a full one. */
const MAX_CALLERS = 100_000;

/** Jobs hold a connection only while they read or store, not while they wait for a git host. */
const WORK_CONNECTIONS = 10;

/** The one place that knows every concrete part and who needs which. */
export async function wire(options: WireOptions): Promise<Wired> {
  const { config, log, database, sealer, baseUrl } = options;
  const { db, pool } = database;
  const { allowPrivateTargets } = config;
  const { now = () => new Date() } = options.replaced ?? {};
  const common = { newId, now, sealer, allowPrivateTargets };
  const prices = loadModelPrices(config.modelPricesFile);

  const identity = createIdentity({ db, baseUrl, log, secret: await loadIdentitySecret(db, sealer) });
  const authenticator = createAuthenticator({ db, baseUrl, log });

  const warmPools = createWarmPoolService({ ...common, targetSize: config.warmPoolSize });
  const tiers = createSandboxTierService({ ...common, warmPools, defaultSize: config.sandboxSize });
  const hosts = createGitHostService(common);
  const appTokens = createAppTokens({ ...common, hosts });
  const credentials = createRepositoryCredentialService({ ...common, appTokens });
  const repositories = createRepositoryService({ ...common, credentials, warmPools });
  const environments = createEnvironmentService({ ...common, warmPools, repositories });
  const attached = { ...common, environments, warmPools, repositories };
  const registries = createSkillRegistryService(attached);
  const catalog = createSkillCatalog({
    url: config.skillCatalogUrl,
    timeoutMs: config.skillCatalogTimeoutMs,
    allowPrivateTargets,
  });

  const codingAgents = createCodingAgentService(common);
  const variables = createVariableService(attached);
  const files = createEnvironmentFileService(attached);
  const mcps = createMcpService(attached);
  const skills = createSkillService({ ...attached, catalog });
  const hooks = createHookService(attached);

  // Jobs have connections of their own: a burst of requests must not keep them from being worked off.
  const work = openDatabase({ url: database.url, poolSize: WORK_CONNECTIONS, log });
  const queue = new pg.Pool({ connectionString: database.url, max: config.workerConcurrency + 3 });
  const git = createGit({ cacheDir: path.join(config.dataDir, 'git'), allowPrivateTargets });
  const signals = createSignals({ url: database.url, log });
  const attachments = { variables, files, mcps, skills, hooks, registries, repositories, environments };
  const live = await wireReplicas({
    ...common,
    ...attachments,
    config,
    log,
    baseUrl,
    db: work.db,
    signals,
    git,
    hosts,
    tiers,
    codingAgents,
    prices,
    openDriver: options.replaced?.openDriver ?? openDriver,
    silenceTimes: options.replaced?.silenceTimes ?? silenceTimes,
    webhookTimes: options.replaced?.webhookTimes ?? webhookTimes,
    lookup: options.replaced?.lookup,
  });

  const { onMemberRemoved } = live;
  const accounts = createAccountService({ ...common, identity, onMemberRemoved });
  const handlers = {
    ...accountHandlers(accounts),
    ...codingAgentHandlers(codingAgents),
    ...environmentHandlers(environments),
    ...variableHandlers(variables),
    ...environmentFileHandlers(files),
    ...mcpHandlers(mcps),
    ...skillHandlers(skills),
    ...skillRegistryHandlers(registries),
    ...hookHandlers(hooks),
    ...live.handlers,
    ...warmPoolHandlers(attached),
    ...sandboxTierHandlers(tiers),
    ...repositoryHandlers(repositories),
    ...repositorySetHandlers(createRepositorySetService(attached)),
    ...repositoryCredentialHandlers(credentials),
  } satisfies Handlers<Operations>;

  const metrics = createMetrics({ pool, countDeliveries: live.countDeliveries });
  const buckets = createTokenBuckets({
    capacity: config.rateLimitBurst,
    refillPerSecond: config.rateLimitPerSecond,
    maxEntries: MAX_CALLERS,
  });
  const admit = createAdmit({
    authenticate: authenticator.authenticate,
    buckets,
    now: () => performance.now(),
  });
  const app = createApp({
    db,
    sealer,
    log,
    operations,
    // Each handler stands under the name of its operation, which the type above has checked.
    handlers: handlers as unknown as Record<string, LooseHandler>,
    bodyLimitBytes: config.bodyLimitBytes,
    trustedProxies: config.trustedProxies,
    admit,
    onAnswered: metrics.observeRequest,
    inspectAnswer: options.inspectAnswer,
  });
  registerIdentityRoutes(app, { identity, admit });
  registerPreviews(app, {
    ...live.previews,
    db,
    log,
    buckets,
    authenticate: authenticator.authenticate,
    onAnswered: metrics.observeRequest,
  });
  registerHealth(app, { metrics, checks: { database: () => pool.query('select 1'), runtime: live.check } });
  registerReference(app, () => openApiDocument(operations, { baseUrl, version }));

  const tasks = [
    ...accountTasks({ db: work.db, now }),
    ...httpTasks({ db: work.db, now }),
    ...repositoryTasks({ db: work.db, git, repositories }),
    ...skillRegistryTasks({ db: work.db, git, registries }),
    ...live.tasks,
  ];
  let workers: Workers | null = null;
  return {
    app,
    bootstrap: (persist) => bootstrapFirstOrganization({ db, identity, apiKeys: accounts.apiKeys, persist }),
    async start() {
      authenticator.start();
      await signals.start();
      await live.start();
      workers = await startWorkers({
        pool: queue,
        log,
        tasks,
        schedule: [
          ...accountSchedule,
          ...httpSchedule,
          ...repositorySchedule,
          ...skillRegistrySchedule,
          ...live.schedule,
        ],
        concurrency: config.workerConcurrency,
      });
    },
    async stop() {
      await app.close();
      await workers?.stop();
      await live.stop();
      await signals.stop();
      await queue.end();
      await work.close();
      await authenticator.stop();
      await catalog.close();
    },
  };
}

import { chmodSync } from 'node:fs';
import type { Logger } from 'pino';
import { createAgentPrograms } from './agent-program/service.ts';
import type { CanvasService } from './canvas/service.ts';
import { createFetchImages } from './chat/fetch-image.ts';
import type { ChatService } from './chat/service.ts';
import { createComposeTurn } from './chat/turn-request.ts';
import type { CodingAgentService } from './coding-agent/service.ts';
import type { Config } from './config.ts';
import type { Db } from './db/database.ts';
import { createMcpRoute } from './gateway/mcp.ts';
import { createModelRoute } from './gateway/model.ts';
import { gitHostHandlers } from './git-host/handlers.ts';
import type { GitHostService } from './git-host/service.ts';
import { makeFolder } from './lib/make-folder.ts';
import { createModelBudgets } from './model/budget.ts';
import { modelUsageHandlers } from './model/handlers.ts';
import { createModelLedger } from './model/ledger.ts';
import { createOfflineModel } from './model/offline.ts';
import type { ModelPrices } from './model/price.ts';
import { createScriptedModel } from './model/scripted/scripted-model.ts';
import type { PreviewService } from './preview/service.ts';
import { createContactWatch } from './pull-request/contact-watch.ts';
import { createPullRequestService } from './pull-request/service.ts';
import { pullRequestTasks } from './pull-request/worker.ts';
import type { ReplicaService } from './replica/service.ts';
import type { RepositoryService } from './repository/service.ts';
import { workspaceTools } from './workspace-tool/tools.ts';

type Parts = {
  config: Config;
  log: Logger;
  db: Db;
  hosts: GitHostService;
  newId: () => string;
  now: () => Date;
  prices: ModelPrices;
  codingAgents: CodingAgentService;
  repositories: RepositoryService;
  replicas: ReplicaService;
  chats: ChatService;
  previews: PreviewService;
  canvas: CanvasService;
};

/** The part of the wiring that agents need to work: their programs, their models and what they may spend, their tools. */
export function wireAgents(parts: Parts) {
  const { config, log, db, newId, now, hosts, codingAgents, repositories } = parts;
  const { replicas, chats, previews, canvas } = parts;
  const { allowPrivateTargets, agentsDir: folder } = config;
  makeFolder(folder);
  // Sandboxes see it as another user.
  chmodSync(folder, 0o755);
  const programs = createAgentPrograms({ folder, log });
  const offline = createOfflineModel({
    isOn: config.offlineModel && config.agentRunner === 'real',
    hasCredential: codingAgents.has,
  });
  const ledger = createModelLedger({ prices: parts.prices, newId, now });
  const budgets = createModelBudgets({ replicas, turns: chats.turns, now });
  const pullRequests = createPullRequestService({
    db,
    hosts,
    replicas,
    repositories,
    chats,
    followUpDelayMs: config.followUpSeconds * 1_000,
    newId,
    now,
  });

  return {
    offline,
    budgets,
    ledger,
    pullRequests,
    composeTurn: createComposeTurn({
      settings: {
        runner: config.agentRunner,
        silenceMs: config.turnSilenceSeconds * 1_000,
        durationMs: config.turnSeconds * 1_000,
      },
      programs,
      credentialOf: codingAgents.credentialOf,
      fetchImages: createFetchImages({ allowPrivateTargets }),
    }),
    handlers: {
      ...gitHostHandlers(hosts),
      ...modelUsageHandlers({ ledger, budgets, replicas, now }),
    },
    tasks: pullRequestTasks(pullRequests),
    contactWatch: createContactWatch(pullRequests.tracking),
    /** What agents reach through the gateway. */
    routes: [
      createMcpRoute(workspaceTools({ db, pullRequests, previews, canvas }), log),
      createModelRoute({
        db,
        turnOf: chats.turns.turnOf,
        credentialOf: codingAgents.credentialOf,
        offlineModel: config.offlineModel ? createScriptedModel({ now, newId }) : null,
        refuseSpending: (tx, { replicaId }) => budgets.refuse(tx, replicaId),
        record: ledger.record,
        allowPrivateTargets,
        log,
      }),
    ],
    close: programs.close,
  };
}

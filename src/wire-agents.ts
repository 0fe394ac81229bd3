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
import { createGitHostService } from './git-host/service.ts';
import { makeFolder } from './lib/make-folder.ts';
import { createModelBudgets } from './model/budget.ts';
import { modelUsageHandlers } from './model/handlers.ts';
import { createModelLedger } from './model/ledger.ts';
import { createOfflineModel } from './model/offline.ts';
import type { ModelPrices } from './model/price.ts';
import { createScriptedModel } from './model/scripted/scripted-model.ts';
import type { PreviewService } from './preview/service.ts';
import { createPullRequestService } from './pull-request/service.ts';
import type { ReplicaService } from './replica/service.ts';
import type { RepositoryService } from './repository/service.ts';
import { workspaceTools } from './workspace-tool/tools.ts';

type Parts = {
  config: Config;
  log: Logger;
  db: Db;
  newId: () => string;
  now: () => Date;
  prices: ModelPrices;
  codingAgents: CodingAgentService;
  repositories: RepositoryService;
  replicas: ReplicaService;
  chats: Pick<ChatService, 'turns'>;
  previews: PreviewService;
  canvas: CanvasService;
};

/** The part of the wiring that agents need to work: their programs, their models and what they may spend, their tools. */
export function wireAgents(parts: Parts) {
  const { config, log, db, newId, now, codingAgents, repositories, replicas, chats, previews, canvas } =
    parts;
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
  const hosts = createGitHostService({ allowPrivateTargets, newId, now });
  const pullRequests = createPullRequestService({
    db,
    hosts,
    replicas,
    repositories,
    turnOf: chats.turns.turnOf,
    newId,
    now,
  });

  return {
    offline,
    budgets,
    ledger,
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

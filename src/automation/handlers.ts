import type { automationOperations } from '../contract/automation.ts';
import { AppError } from '../contract/error.ts';
import type { Handlers } from '../http/handler.ts';
import { nextFires, scheduleRefusal } from './cron.ts';
import { payloadOf } from './custom-payload.ts';
import { presentAutomation, presentExecution } from './present.ts';
import type { AutomationService } from './service.ts';

type Parts = { automations: AutomationService; now: () => Date };

const PREVIEWED_FIRES = 5;

export function automationHandlers({ automations, now }: Parts): Handlers<typeof automationOperations> {
  return {
    async previewSchedule({ query }) {
      const { schedule, timezone } = query;
      const refusal = scheduleRefusal(schedule, timezone);
      if (refusal !== null) throw new AppError('invalid_request', `The schedule ${refusal}.`);
      const fires = nextFires(schedule, timezone, { after: now(), count: PREVIEWED_FIRES });
      return { status: 200, body: { fires: fires.map((fire) => fire.toISOString()) } };
    },
    async listAutomations({ db, caller, query }) {
      const { rows, total } = await automations.list(db, caller, query);
      return { status: 200, body: { automations: rows.map(presentAutomation), ...pageOf(query, total) } };
    },
    async createAutomation({ db, caller, body }) {
      const automation = await automations.create(db, caller, body);
      return { status: 201, body: { automation: presentAutomation(automation) } };
    },
    async getAutomation({ db, caller, params }) {
      const automation = await automations.read(db, caller, params.id);
      return { status: 200, body: { automation: presentAutomation(automation) } };
    },
    async updateAutomation({ db, caller, params, body }) {
      const automation = await automations.update(db, caller, { id: params.id, body });
      return { status: 200, body: { automation: presentAutomation(automation) } };
    },
    async deleteAutomation({ db, caller, params }) {
      await automations.remove(db, caller, params.id);
      return { status: 200, body: { success: true } };
    },
    async triggerAutomation({ db, caller, params, query, rawBody }) {
      if (query.dry_run === 'true') {
        const payload = sampleOf(rawBody);
        return {
          status: 200,
          body: { prompt: await automations.rehearse(db, caller, { ...params, payload }) },
        };
      }
      const { id, replicaId } = await automations.trigger(db, caller, params.id);
      return { status: 200, body: { execution_id: id, workspace_id: replicaId } };
    },
    async listExecutions({ db, caller, params, query }) {
      const { rows, total } = await automations.listExecutions(db, caller, { ...params, ...query });
      return { status: 200, body: { executions: rows.map(presentExecution), ...pageOf(query, total) } };
    },
  };
}

/** An empty object is what callers send who have nothing to say. */
function sampleOf(bytes: Buffer): unknown {
  const payload = payloadOf(bytes);
  return JSON.stringify(payload) === '{}' ? null : payload;
}

function pageOf({ page, limit }: { page: number; limit: number }, total: number) {
  return { total, page, limit, totalPages: Math.ceil(total / limit) };
}

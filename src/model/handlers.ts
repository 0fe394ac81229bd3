import type { modelUsageOperations } from '../contract/model-usage.ts';
import type { Handlers } from '../http/handler.ts';
import type { ReplicaService } from '../replica/service.ts';
import type { ModelBudgets } from './budget.ts';
import type { ModelLedger } from './ledger.ts';
import { toDollars, toMicros } from './micros.ts';
import { monthOf } from './month.ts';
import { presentSums } from './present.ts';

type Parts = {
  ledger: ModelLedger;
  budgets: ModelBudgets;
  replicas: Pick<ReplicaService, 'find'>;
  now: () => Date;
};
type Request = Parameters<Handlers<typeof modelUsageOperations>['getModelBudget']>[0];

export function modelUsageHandlers(parts: Parts): Handlers<typeof modelUsageOperations> {
  const { ledger, budgets, replicas, now } = parts;

  async function budget({ db, caller }: Pick<Request, 'db' | 'caller'>) {
    const { start, end } = monthOf(now());
    const monthly = await budgets.monthly(db, caller);
    const spent = await ledger.ofOrganization(db, { organizationId: caller.organizationId, start, end });
    return {
      model_budget: {
        monthly_usd: monthly === null ? null : toDollars(monthly),
        spent_usd: toDollars(spent.cost_micros),
        resets_at: end.toISOString(),
      },
    };
  }

  return {
    async getReplicaModelUsage({ db, caller, params }) {
      const row = await replicas.find(db, caller, params.id);
      const { total, chats, messages } = await ledger.ofReplica(db, row.id);
      const budgetMicros = row.model_budget_micros;
      return {
        status: 200,
        body: {
          budget_usd: budgetMicros === null ? null : toDollars(Number(budgetMicros)),
          total: presentSums(total),
          chats: chats.map(({ chat_id, ...sums }) => ({ chat_id, ...presentSums(sums) })),
          messages: messages.map(({ chat_id, message_id, ...sums }) => ({
            chat_id,
            message_id,
            ...presentSums(sums),
          })),
        },
      };
    },
    async setReplicaModelBudget({ db, caller, params, body }) {
      const { amount_usd: amount } = body;
      await budgets.setOfReplica(db, caller, {
        id: params.id,
        micros: amount === null ? null : toMicros(amount),
      });
      return { status: 200, body: { budget_usd: amount } };
    },
    getModelBudget: async (request) => ({ status: 200, body: await budget(request) }),
    async setModelBudget(request) {
      await budgets.setMonthly(request.db, request.caller, toMicros(request.body.monthly_usd));
      return { status: 200, body: await budget(request) };
    },
    async deleteModelBudget({ db, caller }) {
      await budgets.removeMonthly(db, caller);
      return { status: 200, body: { success: true } };
    },
  };
}

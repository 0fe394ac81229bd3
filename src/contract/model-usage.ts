import { z } from 'zod';
import { id, success, time } from './common.ts';
import type { Operation } from './operation.ts';

/** What was asked of models, added up. */
export const tokens = {
  requests: z.int().describe('Answers of models.'),
  input_tokens: z.int().describe('Without what came out of the cache.'),
  output_tokens: z.int(),
  cache_read_tokens: z.int(),
  cache_write_tokens: z.int(),
  cost_usd: z.number().describe('By the price table; what it does not know counts nothing.'),
  has_unpriced: z
    .boolean()
    .describe(
      'Whether there is an answer whose cost is not known: of its model, or because it was broken off.',
    ),
  is_offline: z.boolean().describe('Whether the scripted offline model has answered.'),
};

/** Exact to a millionth, as it is kept. */
export const dollars = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((amount) => Number.isInteger(Math.round(amount * 1e9) / 1e3), 'must be exact to a millionth');

const modelBudget = z
  .object({
    monthly_usd: z.number().nullable().describe('Null when there is no limit.'),
    spent_usd: z.number().describe('In the present month of UTC.'),
    resets_at: time,
  })
  .meta({ id: 'ModelBudget' });

const tag = 'Usage';
const budgetAnswer = { 200: z.object({ model_budget: modelBudget }) };

export const modelUsageOperations = {
  getReplicaModelUsage: {
    method: 'GET',
    path: '/v1/replica/{id}/model-usage',
    tag,
    summary: 'Read what the models of a replica were asked for and what it costs',
    description: 'Tokens are those that the model providers report. It can be read in every state.',
    access: 'member',
    params: z.object({ id }),
    answers: {
      200: z.object({
        budget_usd: z
          .number()
          .nullable()
          .describe('What the replica may spend; null for no limit of its own.'),
        total: z.object(tokens),
        chats: z.array(z.object({ chat_id: id, ...tokens })),
        messages: z
          .array(z.object({ chat_id: id, message_id: id.nullable(), ...tokens }))
          .describe('The newest 500; `message_id` is null for what was asked outside of a turn.'),
      }),
    },
  },
  setReplicaModelBudget: {
    method: 'PUT',
    path: '/v1/replica/{id}/model-budget',
    tag,
    summary: 'Set what the agents of a replica may spend on models',
    description: 'When it is reached, the turn ends and what is queued waits until more is allowed.',
    access: 'member',
    params: z.object({ id }),
    body: z.object({ amount_usd: dollars.nullable().describe('Null for no limit.') }),
    answers: { 200: z.object({ budget_usd: z.number().nullable() }) },
  },
  getModelBudget: {
    method: 'GET',
    path: '/v1/organization/model-budget',
    tag,
    summary: 'Read what the organization may spend on models in a month',
    access: 'member',
    answers: budgetAnswer,
  },
  setModelBudget: {
    method: 'PUT',
    path: '/v1/organization/model-budget',
    tag,
    summary: 'Set what the organization may spend on models in a month',
    description:
      'Months are those of UTC. When it is reached, turns end and queued messages wait for the next month or a larger budget.',
    access: 'admin',
    body: z.object({ monthly_usd: dollars }),
    answers: budgetAnswer,
  },
  deleteModelBudget: {
    method: 'DELETE',
    path: '/v1/organization/model-budget',
    tag,
    summary: 'Let the organization spend on models without a limit',
    access: 'admin',
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;

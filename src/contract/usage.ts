import { z } from 'zod';
import { time } from './common.ts';
import { tokens } from './model-usage.ts';
import type { Operation } from './operation.ts';

/** A date alone is its first moment in UTC. */
const moment = z.union(
  [z.iso.datetime({ offset: true }), z.iso.date()],
  'must be an ISO 8601 date, or a time with its zone',
);

const counted = {
  minutes: z.int().describe('Minutes that were begun while active.'),
  amount: z.number().describe('Price of these minutes, exact to a millionth.'),
};

const usageGroup = z.enum(['replica', 'source', 'day']);

export const usageOperations = {
  getUsage: {
    method: 'GET',
    path: '/v1/usage',
    tag: 'Usage',
    summary: 'Read how long replicas were awake, what models were asked for, and what it costs',
    description: [
      'A replica is billed from when it is active until it is not: each such stretch is rounded up to whole minutes, at the',
      'rate of its size. A minute counts where it begins, so what adjacent windows say adds up to what one over both of them',
      'says. A stretch that goes on counts up to now. Deleted replicas are included.',
    ].join(' '),
    access: 'member',
    query: z.object({
      start: moment.optional().describe('Included. Default: 30 days before `end`.'),
      end: moment.optional().describe('Not included; at most 366 days after `start`. Default: now.'),
      group_by: usageGroup.default('day').describe('Days are those of UTC.'),
    }),
    answers: {
      200: z.object({
        start: time,
        end: time,
        group_by: usageGroup,
        total: z.object({
          ...counted,
          models: z
            .object(tokens)
            .describe('What was asked of models within the window, and what that costs besides.'),
        }),
        groups: z
          .array(
            z.object({
              key: z.string().describe('The id of a replica, a source, or a day as `2026-01-31`.'),
              ...counted,
            }),
          )
          .describe('Only those with minutes. Days in their order, the others by amount, largest first.'),
      }),
    },
  },
} as const satisfies Record<string, Operation>;

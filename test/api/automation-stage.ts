import { expect } from 'vitest';
import { createExecutions } from '../../src/automation/executions.ts';
import type { Fire } from '../../src/automation/fire.ts';
import { selectAutomationById } from '../../src/automation/store.ts';
import { transact } from '../../src/db/transact.ts';
import { newId } from '../../src/lib/ids.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { type ApiCall, type Organization, startWorld, until, type World } from '../world/world.ts';

export type AutomationStage = Awaited<ReturnType<typeof startAutomationStage>>;
export type Execution = {
  id: string;
  workspace_id: string | null;
  status: string;
  error: string | null;
  trigger_type: string;
  trigger_payload: unknown;
  completed_at: string | null;
};

/** Fires at the turn of the year only, so that a test decides when it does. */
export const yearly = (config: object = {}) => ({
  type: 'cron',
  config: { schedule: '0 0 1 1 *', timezone: 'UTC', ...config },
});

/** A service in which automations run in sandboxes that are fakes, and a test is what sets them off. */
export async function startAutomationStage() {
  let opened: FakeDriver | null = null;
  const world = await startWorld({
    replaced: {
      openDriver: async ({ gatewayFolder }) => {
        opened = createFakeDriver({ gatewayFolder });
        return opened;
      },
    },
  });
  if (!opened) throw new Error('the service has opened no driver');
  const driver: FakeDriver = opened;
  const executions = createExecutions({ newId, now: () => new Date() });

  /** An organization with an environment, and what a test does with its automations. */
  async function organization() {
    const org = await world.org();
    const environment = await org.call('POST', '/v1/environments', { name: 'plain' });
    const environmentId: string = environment.body.environment.id;
    return { org, environmentId, ...actions(world, { org, environmentId }) };
  }

  /** What a schedule or an event does when it comes. */
  async function fire(automationId: string, more: Partial<Fire> = {}): Promise<string | null> {
    const row = await transact(world.db, async (tx) => {
      const automation = await selectAutomationById(tx, automationId);
      if (!automation) return null;
      return executions.begin(tx, automation, {
        triggerType: 'cron',
        payload: null,
        cause: newId(),
        subject: null,
        ...more,
      });
    });
    return row?.id ?? null;
  }

  return { world, driver, executions, organization, fire, close: () => world.close() };
}

function actions(world: World, { org, environmentId }: { org: Organization; environmentId: string }) {
  async function create(more: object = {}, call: ApiCall = org.call): Promise<string> {
    const body = {
      name: 'Night shift',
      prompt: 'Update.',
      environment_id: environmentId,
      triggers: [yearly()],
      ...more,
    };
    const made = await call('POST', '/v1/automations', body);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body.automation.id;
  }

  async function read(id: string, call: ApiCall = org.call) {
    return (await call('GET', `/v1/automations/${id}`)).body.automation;
  }

  /** The oldest first. */
  async function list(id: string, call: ApiCall = org.call): Promise<Execution[]> {
    return (await call('GET', `/v1/automations/${id}/executions?limit=100`)).body.executions.toReversed();
  }

  /** Waits until the executions of an automation are as they are wanted, the oldest first. */
  async function reach(id: string, statuses: string[], call: ApiCall = org.call): Promise<Execution[]> {
    let last: Execution[] = [];
    await until(
      async () => {
        last = await list(id, call);
        return last.map(({ status }) => status).join() === statuses.join();
      },
      { timeoutMs: 20_000 },
    ).catch(() => expect(last.map(({ status, error }) => [status, error])).toEqual(statuses));
    return last;
  }

  async function replicaRow(id: string | null | undefined) {
    return world.db
      .selectFrom('replica')
      .selectAll()
      .where('id', '=', id ?? '')
      .executeTakeFirstOrThrow();
  }

  /** What was said in a replica by whoever started it, in order. */
  async function messagesOf(replicaId: string | null | undefined): Promise<string[]> {
    const rows = await world.db
      .selectFrom('message')
      .select('text')
      .where('replica_id', '=', replicaId ?? '')
      .orderBy('id')
      .execute();
    return rows.map(({ text }) => text);
  }

  return { create, read, list, reach, replicaRow, messagesOf };
}

import type { Insertable } from 'kysely';
import { pino } from 'pino';
import { createCronLoop } from '../../src/automation/cron-loop.ts';
import { hasDueFire } from '../../src/automation/cron-store.ts';
import { createDebounceLoop } from '../../src/automation/debounce-loop.ts';
import { createExecutions, type Executions } from '../../src/automation/executions.ts';
import type { AutomationRow } from '../../src/automation/fire.ts';
import { createFiring } from '../../src/automation/firing.ts';
import { type Db, openDatabase } from '../../src/db/database.ts';
import type { Automation } from '../../src/db/schema.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase } from '../world/database.ts';
import { until } from '../world/world.ts';

export type DueStage = Awaited<ReturnType<typeof openDueStage>>;
export type ControlPlane = ReturnType<typeof createControlPlane>;

const log = pino({ level: 'silent' });

/** Control planes on one database that begin executions by a clock which the test moves; nobody runs what they begin. */
export async function openDueStage({ planes: count }: { planes: number }) {
  await using opening = new AsyncDisposableStack();
  const database = await createDatabase();
  opening.defer(() => database.drop());
  let clock = new Date('2026-01-01T00:00:00Z');
  const now = () => clock;
  const planes: ControlPlane[] = [];
  for (let index = 0; index < count; index++) {
    const { db, close } = openDatabase({ url: database.url, poolSize: 4, log });
    opening.defer(close);
    planes.push(createControlPlane(db, now));
  }
  const [first] = planes;
  if (!first) throw new Error('a stage needs a control plane');
  const { db } = first;
  const owner = await insertOwner(db);

  async function insert(row: Partial<Insertable<Automation>>): Promise<AutomationRow> {
    const at = new Date();
    const whole = { id: newId(), name: 'a', prompt: 'Update.', ...owner, created_at: at, updated_at: at };
    return db
      .insertInto('automation')
      .values({ ...whole, ...row })
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** What has begun, in the order of its beginning. */
  async function causesOf(automationId: string): Promise<string[]> {
    const rows = await db
      .selectFrom('automation_execution')
      .select('cause')
      .where('automation_id', '=', automationId)
      .orderBy('id')
      .execute();
    return rows.map(({ cause }) => cause);
  }

  const everything = opening.move();
  return {
    db,
    planes,
    insert,
    causesOf,
    now,
    setClock: (at: Date) => {
      clock = at;
    },
    close: () => everything.disposeAsync(),
  };
}

/** Each round is one of a process that has just been started and is stopped after it, so nothing stays in memory. */
function createControlPlane(db: Db, now: () => Date) {
  const executions = createExecutions({ newId, now });
  const firing = createFiring({ executions, now });
  const dying: Pick<Executions, 'begin'> = {
    async begin(...given) {
      await executions.begin(...given);
      throw new Error('the process is killed here');
    },
  };

  async function round(loop: { start(): void; stop(): Promise<void> }): Promise<void> {
    loop.start();
    await loop.stop();
  }

  return {
    db,
    firing,
    fireDue: () => round(createCronLoop({ db, log, now, executions })),
    /** Stays until nothing is due any more, with a clock of its own if need be. */
    async lookUntilDone(clock = now) {
      const loop = createCronLoop({ db, log, now: clock, executions });
      loop.start();
      await until(async () => !(await hasDueFire(db, now())));
      await loop.stop();
    },
    releaseDue: () => round(createDebounceLoop({ db, log, now, firing })),
    /** Begins what is due, and is gone before the end of the transaction. */
    dieReleasing: () =>
      round(createDebounceLoop({ db, log, now, firing: createFiring({ executions: dying, now }) })),
    dieFiring: () => round(createCronLoop({ db, log, now, executions: dying })),
  };
}

async function insertOwner(db: Db) {
  const [organization_id, environment_id, at] = [newId(), newId(), new Date()];
  await db
    .insertInto('organization')
    .values({ id: organization_id, name: 'o', slug: organization_id })
    .execute();
  await db
    .insertInto('environment')
    .values({ id: environment_id, organization_id, name: 'e', created_at: at, updated_at: at })
    .execute();
  return { organization_id, environment_id };
}

import type pg from 'pg';

const questions = {
  replicas: "select state, count(*)::int from replica where state <> 'deleted' group by state",
  sandboxes: 'select purpose, removing_at is not null as removing, count(*)::int from sandbox group by 1, 2',
  workspaces:
    'select status, count(*)::int, max(error_message) as error from warm_pool_workspace group by status',
  pools:
    'select enabled, error_count, next_retry_at, last_error_message from warm_pool where error_count > 0',
  jobs: `select task.identifier, job.attempts, job.run_at, job.locked_at, job.last_error
    from graphile_worker._private_jobs job join graphile_worker._private_tasks task on task.id = job.task_id`,
};

/** What the service still has to do, for whoever has waited for it in vain. */
export async function describeUnsettled(database: pg.Pool): Promise<string> {
  const lines: string[] = [];
  for (const [name, text] of Object.entries(questions)) {
    const { rows } = await database.query(text);
    for (const row of rows) lines.push(`${name}: ${JSON.stringify(row)}`);
  }
  return lines.join('\n');
}

import type { z } from 'zod';
import type { warmPool } from '../contract/warm-pool.ts';
import type { WarmPool } from './service.ts';

/** A pool as the API shows it. */
export function presentWarmPool(pool: WarmPool): z.input<typeof warmPool> {
  return {
    id: pool.id,
    organization_id: pool.organization_id,
    environment_id: pool.environment_id,
    enabled: pool.enabled,
    target_size: pool.target_size,
    generation: pool.generation,
    error_count: pool.error_count,
    next_retry_at: pool.next_retry_at?.toISOString() ?? null,
    last_error_at: pool.last_error_at?.toISOString() ?? null,
    last_error_message: pool.last_error_message,
    last_failure_at: pool.last_failure_at?.toISOString() ?? null,
    last_failure_reason: pool.last_failure_reason,
    has_base_snapshot: pool.has_base_snapshot,
    ready_count: pool.ready_count,
    stale_count: pool.stale_count,
    warming_count: pool.warming_count,
    snapshotting_count: pool.snapshotting_count,
    updated_at: pool.updated_at.toISOString(),
  };
}

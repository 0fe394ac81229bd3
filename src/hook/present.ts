import type { Hook } from './service.ts';

/** A hook as the API shows it. */
export function presentHook(hook: Hook | null) {
  if (!hook) return null;
  return {
    id: hook.id,
    organization_id: hook.organization_id,
    environment_id: hook.environment_id,
    version: hook.version,
    content: hook.content,
    is_active: hook.is_active,
    created_at: hook.created_at.toISOString(),
  };
}

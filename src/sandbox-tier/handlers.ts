import type { sandboxTierOperations } from '../contract/sandbox-tier.ts';
import type { Handlers } from '../http/handler.ts';
import type { SandboxTier, SandboxTierService } from './service.ts';

export function sandboxTierHandlers(tiers: SandboxTierService): Handlers<typeof sandboxTierOperations> {
  return {
    getSandboxTier: async ({ db, caller }) => ({
      status: 200,
      body: present(await tiers.read(db, caller)),
    }),
    setSandboxTier: async ({ db, caller, body }) => ({
      status: 200,
      body: present(await tiers.set(db, caller, body.size)),
    }),
  };
}

function present({ size, isDefault }: SandboxTier) {
  return { sandbox_tier: { size, is_default: isDefault } };
}

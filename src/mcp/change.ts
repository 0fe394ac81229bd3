import type { z } from 'zod';
import { mcpConfig, type mcpTransport } from '../contract/mcp.ts';

export type McpTransport = z.output<typeof mcpTransport>;
export type McpConfig = z.output<(typeof mcpConfig)[McpTransport]>;

/** What a change asks for; `config` is not yet known to fit any transport. */
export type McpChange = { transport?: McpTransport; config?: Record<string, unknown> };

/** What stands after the change; a config that was not given stays, as `undefined`. */
type ResolvedChange =
  | { transport: McpTransport; config: McpConfig | undefined; refusal: null }
  | { refusal: string };

/** Holds a change against the transport that stands; `refusal` is a sentence for the caller. */
export function resolveChange(current: McpTransport, change: McpChange): ResolvedChange {
  const { transport = current, config } = change;
  if (config === undefined) {
    if (transport === current) return { transport, config: undefined, refusal: null };
    return {
      refusal: `The transport changes from ${current} to ${transport}, so a config for ${transport} must be given with it.`,
    };
  }
  const parsed = mcpConfig[transport].safeParse(config);
  if (parsed.success) return { transport, config: parsed.data, refusal: null };
  const problems = parsed.error.issues.slice(0, 10).map(describe);
  return { refusal: `The config does not fit the transport ${transport}: ${problems.join('; ')}.` };
}

function describe(issue: z.core.$ZodIssue): string {
  // Keys of free-form objects are the caller's own text; a sentence needs only the start of one.
  const field = ['config', ...issue.path].map((step) => String(step).slice(0, 100)).join('.');
  return `${field}: ${issue.message}`;
}

import type { EngineContext } from '../context.ts';
import type { McpServer } from '../protocol.ts';

/** A name that no MCP server of an environment can have. */
const OWN_MCP_NAME = 'replica-workspace';

/** The service's own tools for agents, which the gateway serves: what they need of the outside stays there. */
export function ownMcpServer(
  { gatewayPort, secret }: EngineContext,
  chatId: string,
): Record<string, McpServer> {
  return {
    [OWN_MCP_NAME]: {
      transport: 'http',
      url: `http://127.0.0.1:${gatewayPort}/mcp/${chatId}`,
      headers: { authorization: `Bearer ${secret}` },
    },
  };
}

import type { terminalOperations } from '../contract/terminal.ts';
import type { TerminalInfo } from '../engine/protocol.ts';
import type { Handlers } from '../http/handler.ts';
import type { TerminalService } from './service.ts';

type Parts = { terminals: TerminalService; newId: () => string; now: () => Date };

/** The engine is asked after the commit: it may take its time, and no connection to the database waits for it. */
export function terminalHandlers({ terminals, newId, now }: Parts): Handlers<typeof terminalOperations> {
  const done = { status: 200, body: { success: true } } as const;
  return {
    async listTerminals({ db, caller, params, signal }) {
      const replica = await terminals.findActive(db, caller, params.id);
      const listed = await terminals.list({ db, replica, signal });
      return { status: 200, body: { terminals: listed.map(present) } };
    },
    async createTerminal({ db, caller, params, body }) {
      const replica = await terminals.findActive(db, caller, params.id);
      const { cols, rows, command } = body;
      const request = { id: newId(), cols, rows, ...(command !== undefined && { command }) };
      const begun = { id: request.id, cols, rows, createdAt: now().toISOString(), exitCode: null };
      return {
        status: 201,
        body: { terminal: present(begun) },
        settle: async (pool, signal) => ({
          terminal: present(await terminals.create({ db: pool, replica, signal }, request)),
        }),
      };
    },
    async sendTerminalInput({ db, caller, params, body }) {
      const replica = await terminals.findActive(db, caller, params.id);
      const data = body.data_base64 ? Buffer.from(body.data_base64, 'base64') : Buffer.from(body.data ?? '');
      return {
        ...done,
        async settle(pool, signal) {
          await terminals.input({ db: pool, replica, signal }, params.terminalId, data);
          return done.body;
        },
      };
    },
    async resizeTerminal({ db, caller, params, body }) {
      const replica = await terminals.findActive(db, caller, params.id);
      return {
        ...done,
        async settle(pool, signal) {
          await terminals.resize({ db: pool, replica, signal }, params.terminalId, body);
          return done.body;
        },
      };
    },
    async streamTerminal({ db, caller, params, query, headers }) {
      const replica = await terminals.findActive(db, caller, params.id);
      const { encoding = 'utf8' } = query;
      const offset = Number(headers['last-event-id'] ?? query.offset ?? 0);
      const wanted = { terminalId: params.terminalId, offset, encoding };
      return {
        status: 200,
        stream: (pool, signal) => terminals.stream({ db: pool, replica, signal }, wanted),
      };
    },
    async deleteTerminal({ db, caller, params }) {
      const replica = await terminals.findActive(db, caller, params.id);
      return {
        ...done,
        async settle(pool, signal) {
          await terminals.remove({ db: pool, replica, signal }, params.terminalId);
          return done.body;
        },
      };
    },
  };
}

function present({ id, cols, rows, createdAt, exitCode }: TerminalInfo) {
  return { id, cols, rows, created_at: new Date(createdAt).toISOString(), exit_code: exitCode };
}

import type { eventOperations } from '../contract/event.ts';
import { isStrict } from '../contract/message.ts';
import type { Handlers } from '../http/handler.ts';
import { requireServed } from '../replica/admission.ts';
import type { ReplicaService } from '../replica/service.ts';
import type { StreamEvents } from './stream.ts';

type Parts = { replicas: Pick<ReplicaService, 'find'>; streamEvents: StreamEvents };

export function eventHandlers({ replicas, streamEvents }: Parts): Handlers<typeof eventOperations> {
  return {
    async streamReplicaEvents({ db, caller, params, query, headers }) {
      const row = await replicas.find(db, caller, params.id);
      requireServed(row.state, { isStrict: isStrict(headers.prefer) });
      const asked = {
        // A reader that opens its stream again has a newer id in the header than the one it began with.
        lastEventId: headers['last-event-id'] || query.last_event_id || null,
        wantsSnapshot: query.snapshot === 'true',
      };
      return { status: 200, stream: (pool, signal) => streamEvents(pool, { row, asked, signal }) };
    },
  };
}

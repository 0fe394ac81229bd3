/** One list in which each of the model APIs finds its own fields. */
export function modelList(now: Date): object {
  const id = 'scripted';
  const model = {
    id,
    object: 'model',
    type: 'model',
    display_name: 'Offline model',
    owned_by: 'replica',
    created: Math.floor(now.getTime() / 1_000),
    created_at: now.toISOString(),
  };
  return { object: 'list', data: [model], models: [], has_more: false, first_id: id, last_id: id };
}

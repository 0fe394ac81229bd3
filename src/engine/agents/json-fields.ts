import type { JsonObject } from './agent.ts';

/** Reads what an agent says without trusting its form: what is not as expected is nothing. */

export function objectAt(from: JsonObject, key: string): JsonObject {
  return toObject(from[key]);
}

export function objectsAt(from: JsonObject, key: string): JsonObject[] {
  const list = from[key];
  return Array.isArray(list) ? list.map(toObject) : [];
}

export function textAt(from: JsonObject, key: string): string {
  const text = from[key];
  return typeof text === 'string' ? text : '';
}

export function numberAt(from: JsonObject, key: string): number | null {
  const number = from[key];
  return typeof number === 'number' ? number : null;
}

function toObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

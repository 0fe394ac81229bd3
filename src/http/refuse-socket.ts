import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AppError, errorCodeHeader } from '../contract/error.ts';
import { requestId } from './request-id.ts';

/** Writes an error answer by hand, where there is a connection and no reply, and ends the connection. */
export function refuseSocket(socket: Duplex, refusal: AppError): void {
  const body = JSON.stringify({ error: refusal.message, details: refusal.details });
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId(undefined)}`,
    `${errorCodeHeader}: ${refusal.code}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

import http, { type IncomingMessage, type ServerResponse } from 'node:http';

export interface Upstream {
  readonly port: number;
  /** Until the answer begins. */
  readonly timeoutMs: number;
}

/** Instead of a status: the caller no longer waits for the answer. */
const GAVE_UP = 0;

/**
 * Hands a request to a process and its answer back, headers and body untouched. Resolves to the status when the answer
 * is through: 504 when the process took too long, 502 when it broke off. A caller who gives up ends the request there
 * too: GAVE_UP.
 */
export async function forward(
  request: IncomingMessage,
  answer: ServerResponse,
  to: Upstream,
): Promise<number> {
  if (answer.destroyed) return GAVE_UP;
  return new Promise((resolve) => {
    const sent = http.request({
      host: '127.0.0.1',
      port: to.port,
      method: request.method,
      path: request.url,
      headers: request.rawHeaders,
      setHost: false,
      agent: false,
    });
    const timer = setTimeout(() => fail(504, 'request timeout'), to.timeoutMs);
    const fail = (status: number, why: string): void => {
      sent.destroy();
      if (answer.headersSent) answer.destroy();
      else refuse(answer, status, why);
    };
    sent.on('response', (received) => {
      clearTimeout(timer);
      answer.writeHead(received.statusCode ?? 502, received.rawHeaders);
      received.on('error', () => answer.destroy());
      received.pipe(answer);
    });
    sent.on('error', (error) => fail(502, error.message));
    answer.on('close', () => {
      clearTimeout(timer);
      sent.destroy();
      resolve(answer.headersSent ? answer.statusCode : GAVE_UP);
    });
    request.on('error', () => sent.destroy());
    request.pipe(sent);
  });
}

/** Answers in our own name, not the function's. */
export function refuse(answer: ServerResponse, status: number, why: string): void {
  if (answer.headersSent || answer.destroyed) return;
  answer.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`);
}

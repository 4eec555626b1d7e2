import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import { REASON } from '../../../functions/domain/names.ts';
import { newFunction } from '../../../functions/host/function.ts';
import { EVENT_MS, newListener } from '../../../functions/host/server.ts';
import { serve } from '../../../functions/server/serve.ts';
import type { Fields, Level } from '../../../functions/runtime/log.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';
import type { Outcome, Step, StepContext } from '../../../functions/host/step.ts';

export interface Line extends Fields {
  readonly level: Level;
  readonly message: string;
}

/** A log that is kept. */
export function newLines(): { lines: Line[]; log: StepContext['log'] } {
  const lines: Line[] = [];
  return { lines, log: (level, message, fields) => void lines.push({ level, message, ...fields }) };
}

/** A context for steps that need only log and clock. */
export const onlyLog = (log: StepContext['log']): StepContext =>
  ({ log, clock: systemClock }) as unknown as StepContext;

/** The outcome of a step that does nothing. */
export const NOTHING: Outcome = { reason: REASON.nothingBlocked, message: 'nothing to do' };

/** A step like `lock`, with this implementation. */
export const aStep = (
  handle: (request: StepRequest) => Outcome | Promise<Outcome>,
  different: Partial<Step> = {},
): Step => ({
  name: 'lock',
  triggers: [{ type: 'io.kubevirt.mtq.migration.feasible' }],
  replies: [],
  handle: async (request) => handle(request),
  ...different,
});

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Each byte of the body is a chunk of its own. */
  readonly isInBytes?: boolean;
}

/** One HTTP request on its own connection. Rejects when the connection breaks before the complete answer. */
export async function send(
  port: number,
  { method = 'POST', path = '/', headers = {}, body = '', isInBytes = false }: Sent,
): Promise<Answer> {
  const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false });
  if (isInBytes) for (const byte of body) request.write(byte);
  request.end(isInBytes ? '' : body);
  const [response] = (await once(request, 'response')) as [AsyncIterable<Buffer> & Incoming];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return { status: response.statusCode, headers: response.headers, body: text };
}

interface Incoming {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
}

export interface Host {
  readonly port: number;
  readonly lines: readonly Line[];
  readonly send: (sent: Sent) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

/** The function host as in production, with these steps, on any free port. */
export async function startHost(steps: readonly Step[]): Promise<Host> {
  const { lines, log } = newLines();
  const listener = newListener(newFunction(steps, onlyLog(log)), log);
  const { port, close } = await serve({ listener, port: 0, requestMs: EVENT_MS });
  return {
    port,
    lines,
    send: (sent) => send(port, sent),
    close: () => close(),
  };
}

/** A request with a binary CloudEvent, by default for `lock`; undefined leaves a header out. */
export function anEvent(different: Readonly<Record<string, string | undefined>> = {}, data?: unknown): Sent {
  const all: Record<string, string | undefined> = {
    'content-type': 'application/json',
    'ce-specversion': '1.0',
    'ce-id': 'id-1',
    'ce-source': '/mtq/feasibility',
    'ce-type': 'io.kubevirt.mtq.migration.feasible',
    ...different,
  };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) if (value !== undefined) headers[name] = value;
  return { headers, body: JSON.stringify(data ?? { namespace: 'tenant' }) };
}

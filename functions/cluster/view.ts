import http from 'node:http';
import { maintenanceSchema, type Maintenance } from '../domain/progress/maintenance.ts';
import type { Subject } from '../domain/progress/progress-object.ts';
import { viewSchema, type View } from '../domain/view.ts';
import { parseJson } from '../domain/bounded.ts';
import type * as z from '../runtime/zod.ts';

const agent = new http.Agent({ keepAlive: true });

/** Bytes of an answer, and milliseconds until it must be there. */
interface Limits {
  readonly maxBytes: number;
  readonly withinMs: number;
}
/** 100 migrations have at most 250 KB, 1,000 UIDs 39, and 2,000 nodes without a slot 130. */
const VIEW: Limits = { maxBytes: 512 * 1024, withinMs: 500 };
/** An upgrade of 10,000 VMs has 400 KB, half of it in the object as it was written. */
const MAINTENANCE: Limits = { maxBytes: 4 * 1024 * 1024, withinMs: 2_000 };

/** The guard's view of the cluster for a namespace; undefined after `withinMs`, or after any other failure. Never rejects. */
export function readView(
  url: string,
  namespace: string,
  withinMs = VIEW.withinMs,
): Promise<View | undefined> {
  const at = new URL(url);
  at.searchParams.set('namespace', namespace);
  return read(at, viewSchema, { ...VIEW, withinMs });
}

/** The guard's view of a drain or the upgrade, beside /view; undefined as there. Never rejects. */
export function readMaintenance(viewUrl: string, { kind, node }: Subject): Promise<Maintenance | undefined> {
  const at = new URL('/maintenance', viewUrl);
  at.searchParams.set('kind', kind);
  if (node !== undefined) at.searchParams.set('node', node);
  return read(at, maintenanceSchema, MAINTENANCE);
}

function read<T>(at: URL, schema: z.ZodMiniType<T>, { maxBytes, withinMs }: Limits): Promise<T | undefined> {
  return new Promise((resolve) => {
    const fail = (): void => resolve(undefined);
    const signal = AbortSignal.timeout(withinMs);
    const sent = http.get(at, { agent, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > maxBytes) response.destroy(new Error('too large'));
      });
      response.on('error', fail);
      response.on('end', () => {
        const parsed = schema.safeParse(parseJson(text));
        resolve(response.statusCode === 200 && parsed.success ? parsed.data : undefined);
      });
    });
    sent.on('error', fail);
  });
}

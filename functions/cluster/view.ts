import http from 'node:http';
import { viewSchema, type View } from '../domain/view.ts';
import { parseJson } from '../domain/lock.ts';

const MAX_BYTES = 64 * 1024;
const agent = new http.Agent({ keepAlive: true });

/** The guard's view of the cluster for a namespace; undefined after `withinMs`, or after any other failure. Never rejects. */
export function readView(url: string, namespace: string, withinMs = 500): Promise<View | undefined> {
  const at = new URL(url);
  at.searchParams.set('namespace', namespace);
  return new Promise((resolve) => {
    const fail = (): void => resolve(undefined);
    const signal = AbortSignal.timeout(withinMs);
    const sent = http.get(at, { agent, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_BYTES) response.destroy(new Error('too large'));
      });
      response.on('error', fail);
      response.on('end', () => {
        const parsed = viewSchema.safeParse(parseJson(text));
        resolve(response.statusCode === 200 && parsed.success ? parsed.data : undefined);
      });
    });
    sent.on('error', fail);
  });
}

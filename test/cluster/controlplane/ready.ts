import { existsSync, readFileSync } from 'node:fs';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceQuota } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';

const POLL_MS = 25;

export interface ApiServer {
  readonly port: number;
  readonly caFile: string;
  readonly token: string;
}

/** Resolves when /readyz answers ok. Only `signal` ends it early: race it with the end of the process. */
export async function apiServerReady(server: ApiServer, signal: AbortSignal): Promise<void> {
  for (;;) {
    const ca = madeCa(server.caFile);
    if (ca !== undefined && (await answersOk(server, ca, signal))) return;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** The API server writes the file at its start: undefined while it is missing or incomplete. */
function madeCa(file: string): string | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return text.endsWith('-----END CERTIFICATE-----\n') ? text : undefined;
}

async function answersOk({ port, token }: ApiServer, ca: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const options = {
      host: '127.0.0.1',
      port,
      path: '/readyz',
      ca,
      headers,
      agent: false,
      timeout: 2_000,
      signal,
    };
    const request = https.get(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

const PROBE: New<ResourceQuota> = {
  metadata: { name: 'control-plane-probe', namespace: 'default' },
  spec: { hard: { pods: '1' } },
};

/** Resolves when the quota controller really works: it has given a quota its status. Leaves nothing behind. */
export async function quotaControllerReady(kubeconfig: string, signal: AbortSignal): Promise<void> {
  const cluster = connect(kubeconfig);
  const { object } = await cluster.create(RESOURCE_QUOTAS, PROBE);
  const { name, resourceVersion } = object.metadata;
  const from = { namespace: 'default', fieldSelector: `metadata.name=${name}`, resourceVersion };
  for await (const event of cluster.watch(RESOURCE_QUOTAS, from, signal)) {
    if (event.object.status?.hard !== undefined) break;
  }
  await cluster.delete(RESOURCE_QUOTAS, { namespace: 'default', name });
}

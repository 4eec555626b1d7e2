import { readFileSync } from 'node:fs';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../cluster/controlplane/start.ts';
import { askUntil } from './eventually.ts';

/** audit.k8s.io/v1 Event, as far as we look at it. */
export interface Audited {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly stage: string;
  readonly stageTimestamp: string;
}

/** Every request that the API server has answered by now, in the order of the answers; of a watch its start. */
export async function auditLog(
  { auditLog: file }: Pick<ControlPlane, 'auditLog'>,
  admin: Cluster,
): Promise<Audited[]> {
  // Written when an answer is complete, which the client may know a moment before: what is logged behind this was before.
  const marker = `marker-${performance.now()}`.replace('.', '-');
  await admin.list(NAMESPACES, { labelSelector: `${marker}=1` });
  const text = await askUntil(
    'the audit log is written',
    () => Promise.resolve(readFileSync(file, 'utf8')),
    (log) => log.includes(marker),
  );
  const lines = text.split('\n').filter((line) => line !== '');
  const requests = lines.map((line) => JSON.parse(line) as Audited);
  return requests.filter(({ verb, stage, requestURI }) => {
    const isOfWatch = verb === 'watch' ? stage === 'ResponseStarted' : stage === 'ResponseComplete';
    return isOfWatch && !requestURI.includes(marker);
  });
}

/** "update resourcequotas/status". */
export const whatOf = ({ verb, objectRef }: Audited): string => {
  const { resource = '', subresource } = objectRef ?? {};
  return `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
};

export const isDryRun = ({ requestURI }: Audited): boolean => requestURI.includes('dryRun=All');

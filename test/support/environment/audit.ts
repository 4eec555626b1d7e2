import { readFileSync } from 'node:fs';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { askUntil } from '../eventually.ts';

/** The used fields of an audit.k8s.io/v1 Event. */
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

/** All answered requests so far, in the order of the answers; a watch counts at its start. */
export async function auditLog(
  { auditLog: file }: Pick<ControlPlane, 'auditLog'>,
  admin: Cluster,
): Promise<Audited[]> {
  // The API server logs a complete answer, perhaps after the client has it. So a marker request makes earlier entries complete.
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

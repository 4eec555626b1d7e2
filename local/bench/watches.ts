import { readFileSync } from 'node:fs';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';

interface Entry {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
}

const OURS = `system:serviceaccount:${SYSTEM_NAMESPACE}:`;

/** How many watches our service accounts (the source's adapter included) have open, by the API server's audit log so far. */
export function openWatches(auditLog: string): number {
  const open = new Set<string>();
  for (const line of readFileSync(auditLog, 'utf8').split('\n')) {
    if (!line.includes(OURS) || !line.includes('"watch"')) continue;
    const { auditID, stage, verb, user } = JSON.parse(line) as Entry;
    if (verb !== 'watch' || !user.username.startsWith(OURS)) continue;
    if (stage === 'ResponseStarted') open.add(auditID);
    if (stage === 'ResponseComplete') open.delete(auditID);
  }
  return open.size;
}

import { grantOf } from './grant.ts';
import { raisedQuota } from './raise.ts';
import { ANNOTATION, DRY_RUN_GRANT } from '../names.ts';
import type { ResourceQuota, Vmmrq } from '../objects.ts';

/**
 * The quota as a lock would raise it by all that these VMMRQs give, but for the grant, for a PUT of its status as a dry run.
 * undefined: nothing would rise, or it is raised now.
 */
export function dryRunRaise(
  quota: ResourceQuota,
  { vmmrqs, now }: { readonly vmmrqs: readonly Vmmrq[]; readonly now: number },
): ResourceQuota | undefined {
  if (grantOf(quota).kind !== 'none') return undefined;
  const { name, uid } = quota.metadata;
  const expiresAt = new Date(now).toISOString();
  const lock = { token: DRY_RUN_GRANT, expiresAt, migrations: [], quotas: [{ name, uid }] };
  const raised = raisedQuota(quota, { lock, vmmrqs, now });
  if (raised === undefined) return undefined;
  const { metadata } = raised;
  const annotations = { ...metadata.annotations, [ANNOTATION.grant]: DRY_RUN_GRANT };
  return { ...raised, metadata: { ...metadata, annotations } };
}

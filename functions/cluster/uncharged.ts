import { assess, type Look } from '../domain/verdict/assessment.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { countsEnded, unchargedIn } from '../domain/sizing/uncharged.ts';
import type { Rules, UnchargedOf } from '../domain/snapshot.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { LISTED_CHARGED_PODS } from './listed.ts';

/** Pods that have not ended: a namespace may have many that have. */
const LIVING = 'status.phase!=Succeeded,status.phase!=Failed';

/** Reads every living pod of the namespace, and those that have ended where a quota counts them; returns what its quotas count beyond them. */
export async function readUncharged(
  cluster: Reader,
  namespace: string,
  quotas: readonly ResourceQuota[],
): Promise<UnchargedOf> {
  const where = quotas.some(countsEnded) ? { namespace } : { namespace, fieldSelector: LIVING };
  const { items } = await cluster.list(LISTED_CHARGED_PODS, where);
  return unchargedIn(quotas, items);
}

/** The look, with that too where it matters: only a verdict that too little is given depends on it. */
export async function withUncharged(cluster: Reader, look: Look, rules: Rules): Promise<Look> {
  const { snapshot, assessment } = look;
  const isShort = assessment.verdicts.some(
    ({ verdict, blocking }) => verdict === 'NoFit' && blocking.length > 0,
  );
  if (!isShort) return look;
  const { name } = snapshot.namespace.metadata;
  const whole = { ...snapshot, uncharged: await readUncharged(cluster, name, snapshot.quotas) };
  return { snapshot: whole, assessment: assess(whole, rules) };
}

import { incumbentLockOf, incumbentOf } from '../domain/incumbent.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';
import { MTQS, WEBHOOK_CONFIGURATIONS } from '../kubernetes/resources.ts';
import { named } from './listed.ts';

/** What shows the incumbent in a namespace besides its VMMRQs, where the guard, which watches both kinds, does not answer. */
export async function readIncumbent(cluster: Reader, namespace: string): Promise<string | undefined> {
  const name = incumbentLockOf(namespace);
  const [mtqs, lock] = await Promise.all([
    ignoreNotFound(cluster.list(named(MTQS), {})),
    ignoreNotFound(cluster.get(WEBHOOK_CONFIGURATIONS, { name })),
  ]);
  const incumbents = new Map((mtqs?.items ?? []).map((mtq) => [mtq.metadata.uid, mtq]));
  const configurations = new Map(lock === undefined ? [] : [[name, lock.object]]);
  return incumbentOf({ incumbents, configurations, vmmrqs: [] }, namespace);
}

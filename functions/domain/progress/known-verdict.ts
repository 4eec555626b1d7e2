import { shown } from '../foreign-text.ts';
import { parseJson, shortList, textRecord } from '../bounded.ts';
import { ANNOTATION } from '../names.ts';
import type { KubernetesEvent } from '../objects.ts';
import { isLater } from '../resource-version.ts';
import * as z from '../../runtime/zod.ts';

/** Characters of a message: a MaintenanceProgress names up to 50 VMs in each bucket. */
export const MAX_MESSAGE = 300;

/** A text of the annotation, which a tenant may write where the policy `verdicts` is off. */
const safe = z.string().check(z.overwrite((text) => shown(text)));
const isPlain = (text: string): boolean => shown(text) === text;

const knownVerdict = z.object({
  /** The reason of the verdict, as in names.ts. */
  reason: safe.check(z.minLength(1), z.maxLength(100)),
  /** The verdict's message, if no quota is named. */
  message: z.optional(safe.check(z.maxLength(MAX_MESSAGE))),
  /** The ResourceQuotas that refuse it, and how much of each key is missing. */
  quotas: z.optional(
    shortList(
      z.object({
        name: safe.check(z.maxLength(253)),
        missing: textRecord(isPlain).check(z.refine((amounts) => Object.keys(amounts).every(isPlain))),
      }),
    ),
  ),
});

/**
 * Feasibility's last verdict about a migration, as its Event on the migration carries it (ANNOTATION.verdict). A Kubernetes Event,
 * because each replica of the guard sees the same ones, also after a restart. A CloudEvent would reach one replica.
 */
export type KnownVerdict = z.infer<typeof knownVerdict>;

/** The last verdict about each migration, by verdictKey. */
export const knownVerdicts = (events: readonly KubernetesEvent[]): ReadonlyMap<string, KnownVerdict> =>
  new Map([...newestVerdicts(events)].map(([key, { verdict }]) => [key, verdict]));

/** Key with the namespace: without the policy `verdicts`, an Event may name the uid of another tenant's migration. */
export const verdictKey = (namespace: string | undefined, uid: string | undefined): string =>
  `${namespace ?? ''}/${uid ?? ''}`;

interface NewestVerdict {
  /** The Event's resourceVersion. */
  readonly version: string;
  readonly verdict: KnownVerdict;
}

/** The newest verdicts, by verdictKey. Events of an earlier verdict stay for an hour: the newest version counts. */
export function newestVerdicts(events: readonly KubernetesEvent[]): ReadonlyMap<string, NewestVerdict> {
  const newest = new Map<string, NewestVerdict>();
  for (const { metadata, involvedObject } of events) {
    const key = verdictKey(metadata.namespace, involvedObject.uid);
    const version = metadata.resourceVersion;
    const parsed = knownVerdict.safeParse(parseJson(metadata.annotations?.[ANNOTATION.verdict] ?? ''));
    if (parsed.success && isLater(version, newest.get(key)?.version ?? ''))
      newest.set(key, { version, verdict: parsed.data });
  }
  return newest;
}

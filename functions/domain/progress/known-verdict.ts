import * as z from 'zod';
import { shortList, textRecord } from '../bounded.ts';
import { parseJson } from '../lock.ts';
import { ANNOTATION } from '../names.ts';
import type { KubernetesEvent } from '../objects.ts';
import { isLater } from '../resource-version.ts';

/** Characters of a message: a MaintenanceProgress names up to 50 VMs in each bucket. */
export const MAX_MESSAGE = 300;

const knownVerdict = z.object({
  /** Of the verdict, as in names.ts. */
  reason: z.string().min(1).max(100),
  /** Only where no quota is named. */
  message: z.string().max(MAX_MESSAGE).optional(),
  /** The ResourceQuotas that refuse it, and how much of each key is missing. */
  quotas: shortList(z.object({ name: z.string().max(253), missing: textRecord() })).optional(),
});

/**
 * Feasibility's last verdict about a migration, as its Event on the migration carries it (ANNOTATION.verdict). A Kubernetes Event,
 * because each replica of the guard sees the same ones, also after a restart. A CloudEvent would reach one replica.
 */
export type KnownVerdict = z.infer<typeof knownVerdict>;

/** The last verdict about each migration, by its uid. Events of an earlier verdict stay for an hour: the newest version counts. */
export function knownVerdicts(events: readonly KubernetesEvent[]): ReadonlyMap<string, KnownVerdict> {
  const newest = new Map<string, { readonly version: string; readonly verdict: KnownVerdict }>();
  for (const { metadata, involvedObject } of events) {
    const { uid = '' } = involvedObject;
    const version = metadata.resourceVersion;
    const parsed = knownVerdict.safeParse(parseJson(metadata.annotations?.[ANNOTATION.verdict] ?? ''));
    if (parsed.success && isLater(version, newest.get(uid)?.version ?? ''))
      newest.set(uid, { version, verdict: parsed.data });
  }
  return new Map([...newest].map(([uid, { verdict }]) => [uid, verdict]));
}

import * as z from 'zod';
import { MAX_LOCK_SECONDS } from '../runtime/limits.ts';
import { ANNOTATION, KUBEVIRT, LABEL } from './names.ts';
import type { KubernetesObject, Namespace } from './objects.ts';
import { isHardQuantity } from './quantity.ts';

const reference = z.object({ name: z.string().min(1), uid: z.string().min(1) });

/** An object by name and uid: a name alone may have been given to another object since. */
export type Reference = z.infer<typeof reference>;

/** A migration, and which of its pods a quota keeps out: its target launcher, where nothing is said that we know. */
const waiting = reference.extend({ lacks: z.literal('attachment').optional().catch(undefined) });
export type Waiting = z.infer<typeof waiting>;

/**
 * One that is locked for, and the UID of its VMI: a launcher copies every label of its own VMI, so the migration's UID alone
 * could be anybody's (docs/adr/0019).
 */
const admitted = waiting.extend({ vmi: z.string().min(1) });
export type Admitted = z.infer<typeof admitted>;

/**
 * The pod that it is locked for, in one word: whose migration and whose VMI's it is. An attachment pod has no label of its VM,
 * and none that a tenant chose.
 */
export const passOf = ({ uid, vmi, lacks }: Admitted): string =>
  `${uid}/${lacks === 'attachment' ? KUBEVIRT.attachment : vmi}`;

/** The same, of a pod as KubeVirt labels it; undefined: it is no migration's. */
export function passOfPod({ metadata: { labels = {} } }: KubernetesObject): string | undefined {
  const migration = labels[KUBEVIRT.migrationJobUID] ?? '';
  const isAttachment = labels[KUBEVIRT.launcherLabel] === KUBEVIRT.attachment;
  const of = isAttachment ? KUBEVIRT.attachment : (labels[KUBEVIRT.createdBy] ?? '');
  return migration === '' || of === '' ? undefined : `${migration}/${of}`;
}

/** A quota to be raised, and what the lock's migrations will be charged there, by canonical key. */
const quotaToRaise = reference.extend({
  /** Locks of before did not say: then the quota is raised by all that the VMMRQs give. */
  need: z.record(z.string(), z.string().refine(isHardQuantity)).optional().catch(undefined),
});
export type QuotaToRaise = z.infer<typeof quotaToRaise>;

const count = z.number().int();

/**
 * What KubeVirt's parallel limits had left when the lock was decided on, where others could be locked for in the same moment: the
 * locks that were counted, and who leaves which node. Whoever comes too late gives way (parallel-turn.ts).
 */
const places = z.object({
  counted: z.array(z.string()),
  inCluster: count,
  onNode: z.record(z.string(), count),
  /** By the migration's uid. */
  nodes: z.record(z.string(), z.string()),
});
export type Places = z.infer<typeof places>;

const time = z.iso.datetime({ offset: true });

export const LOCK_VERSION = 1;

const lockSchema = z.looseObject({
  v: z.number().int(),
  token: z.string().min(1),
  acquiredAt: time,
  expiresAt: time,
  migrations: z.array(admitted),
  quotas: z.array(quotaToRaise),
  /** Who gives; left out where they are many. */
  vmmrqs: z.array(z.string()).optional().catch(undefined),
  places: places.optional().catch(undefined),
  /** Set when the lock is ended early: why. */
  ended: z.object({ reason: z.string(), message: z.string() }).optional(),
});

/** Of another version only `token` and `expiresAt` are sure; it is nobody's to raise for, and ends at its time. */
const otherVersionSchema = z
  .looseObject({
    v: z
      .number()
      .int()
      .refine((v) => v !== LOCK_VERSION),
    token: z.string().min(1),
    acquiredAt: time.optional().catch(undefined),
    expiresAt: time,
    migrations: z.array(admitted).catch([]),
    quotas: z.array(quotaToRaise).catch([]),
    ended: lockSchema.shape.ended.catch(undefined),
  })
  .transform((lock): Lock => {
    const longest = new Date(Date.parse(lock.expiresAt) - MAX_LOCK_SECONDS * 1_000).toISOString();
    return { ...lock, acquiredAt: lock.acquiredAt ?? longest };
  });

/** The content of the lock annotation. Its meaning is fixed for every version: token, expiresAt. */
export type Lock = z.infer<typeof lockSchema>;

/** It is a pod that the lock was taken for; who made it is another question. */
export function isLockedFor({ migrations }: Lock, pod: KubernetesObject): boolean {
  const pass = passOfPod(pod);
  return migrations.some((migration) => passOf(migration) === pass);
}

export type LockState =
  | { readonly kind: 'none' }
  /** Something is there that is no lock of ours: counts as expired, is repaired and never replaced. */
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'held'; readonly lock: Lock; readonly labelled: boolean };

/** What the namespace's annotation and label say. */
export function lockOf(namespace: Namespace): LockState {
  const text = namespace.metadata.annotations?.[ANNOTATION.lock];
  const labelled = namespace.metadata.labels?.[LABEL.locked] !== undefined;
  if (text === undefined) {
    return labelled ? { kind: 'malformed', why: 'the label without the annotation' } : { kind: 'none' };
  }
  const parsed = z.union([otherVersionSchema, lockSchema]).safeParse(parseJson(text));
  if (!parsed.success) return { kind: 'malformed', why: z.prettifyError(parsed.error) };
  return { kind: 'held', lock: parsed.data, labelled };
}

/** Whom it is locked for. */
export const migrationsOf = (state: LockState): readonly Admitted[] =>
  state.kind === 'held' ? state.lock.migrations : [];

/** Never throws: what is no JSON is no lock. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Past its time, or longer than a lock may ever be. `now` is the API server's clock, milliseconds. */
export function isExpired(lock: Lock, now: number): boolean {
  const latest = Date.parse(lock.acquiredAt) + MAX_LOCK_SECONDS * 1_000;
  return now >= Math.min(Date.parse(lock.expiresAt), latest);
}

/** A token that holds the namespace now; undefined when there is none or it is past its time. */
export function liveLock(namespace: Namespace, now: number): Lock | undefined {
  const state = lockOf(namespace);
  return state.kind === 'held' && !isExpired(state.lock, now) ? state.lock : undefined;
}

/** The namespace with the lock's annotation and label set. */
export function withLock(namespace: Namespace, lock: Lock): Namespace {
  const { metadata } = namespace;
  return {
    ...namespace,
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [ANNOTATION.lock]: JSON.stringify(lock) },
      labels: { ...metadata.labels, [LABEL.locked]: 'true' },
    },
  };
}

/** The namespace without the lock, and with the record of the attempt. */
export function withoutLock(namespace: Namespace, lastAttempt: string | undefined): Namespace {
  const {
    [ANNOTATION.lock]: _lock,
    [ANNOTATION.lastAttempt]: _last,
    ...annotations
  } = namespace.metadata.annotations ?? {};
  const { [LABEL.locked]: _label, ...labels } = namespace.metadata.labels ?? {};
  const record = lastAttempt === undefined ? {} : { [ANNOTATION.lastAttempt]: lastAttempt };
  return {
    ...namespace,
    metadata: { ...namespace.metadata, annotations: { ...annotations, ...record }, labels },
  };
}

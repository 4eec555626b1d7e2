import { MAX_LOCK_SECONDS } from '../runtime/limits.ts';
import { parseJson, shortList, textRecord } from './bounded.ts';
import { ANNOTATION, KUBEVIRT, LABEL, PURPOSES } from './names.ts';
import type { KubernetesObject, Namespace } from './objects.ts';
import { isHardQuantity } from './quantity.ts';
import { TOKEN } from './token.ts';
import * as z from '../runtime/zod.ts';

const filled = z.string().check(z.minLength(1));
const reference = z.object({ name: filled, uid: filled });
const token = z.string().check(z.regex(TOKEN));

/** An object by name and uid: another object may have the same name by now. */
export type Reference = z.infer<typeof reference>;

/** A migration, and which of its pods a quota refuses: its attachment pod, or else its target launcher. */
const blockedMigration = z.extend(reference, {
  lacks: z.catch(z.optional(z.literal('attachment')), undefined),
});
export type BlockedMigration = z.infer<typeof blockedMigration>;

/**
 * A migration of the lock, and the UID of its VMI. A launcher copies every label of its own VMI, so the migration's UID alone
 * could be on any pod (docs/adr/0019).
 */
const lockedMigration = z.extend(blockedMigration, {
  vmi: filled,
  /** The migration receives a VM from another cluster: only VMMRQs that allow it give to it. */
  receives: z.catch(z.optional(z.literal(true)), undefined),
  /** What it is for, where a VMMRQ gives to some purposes only. */
  purpose: z.catch(z.optional(z.enum(PURPOSES)), undefined),
});
export type LockedMigration = z.infer<typeof lockedMigration>;

/** The fields of a LockedMigration that identify its pod. */
type IdentityFields = Pick<LockedMigration, 'uid' | 'vmi' | 'lacks'>;

/**
 * Identity of an admitted pod: `<migration uid>/<vmi uid>`. An attachment pod has no label of its VM, and none that a tenant
 * chose: its identity ends in KUBEVIRT.attachment.
 */
export const podIdentity = ({ uid, vmi, lacks }: IdentityFields): string =>
  `${uid}/${lacks === 'attachment' ? KUBEVIRT.attachment : vmi}`;

/** The identities of several pods, as CEL policies read them. */
export const podIdentities = (migrations: readonly IdentityFields[]): string =>
  migrations.map(podIdentity).join(',');

/** The identity of a pod by KubeVirt's labels; undefined: it belongs to no migration. */
export function podIdentityOf({ metadata: { labels = {} } }: KubernetesObject): string | undefined {
  const migration = labels[KUBEVIRT.migrationJobUID] ?? '';
  const isAttachment = labels[KUBEVIRT.launcherLabel] === KUBEVIRT.attachment;
  const of = isAttachment ? KUBEVIRT.attachment : (labels[KUBEVIRT.createdBy] ?? '');
  return migration === '' || of === '' ? undefined : `${migration}/${of}`;
}

/** A quota to raise, and what the lock's migrations will be charged there, by canonical key. */
const quotaToRaise = z.extend(reference, {
  /** What the pods are charged; if left out, the quota is raised by the full allowance. */
  need: z.catch(z.optional(textRecord(isHardQuantity)), undefined),
});
export type QuotaToRaise = z.infer<typeof quotaToRaise>;

const time = z.iso.datetime({ offset: true });

export const LOCK_VERSION = 1;

/** Maximum number of migrations and of quotas of one lock, so that it fits in annotations and events (256 KiB). */
export const MAX_LOCKED = 100;

const lockSchema = z.looseObject({
  v: z.int(),
  token,
  acquiredAt: time,
  expiresAt: time,
  migrations: shortList(lockedMigration),
  quotas: shortList(quotaToRaise),
  /** Names of the VMMRQs that give to each of the migrations (vmmrq-name.ts). */
  vmmrqs: z.catch(shortList(z.string()), []),
  /** Other migrations wait for a migration slot: a raise without effect may have yielded to them. */
  others: z.catch(z.optional(z.literal(true)), undefined),
  /** Fingerprint of what the lock is about, for the back-off (attempt.ts). */
  of: z.catch(z.string(), ''),
  /** Fingerprint of the id of the event that it was taken for: only that event's next delivery announces it again. */
  by: z.catch(z.optional(z.string()), undefined),
  /** Why the lock was ended early; left out: it was not. `unfenced`: the guard has seen that a policy refuses the fence of a quota. */
  ended: z.optional(
    z.object({
      reason: z.string(),
      message: z.string(),
      unfenced: z.catch(z.optional(z.boolean()), undefined),
    }),
  ),
});

/** A lock of another version: only `token` and `expiresAt` are certain. No step raises for it, and it ends at its time. */
const otherVersionSchema = z.pipe(
  z.looseObject({
    v: z.int().check(z.refine((v) => v !== LOCK_VERSION)),
    token,
    acquiredAt: z.catch(z.optional(time), undefined),
    expiresAt: time,
    migrations: z.catch(shortList(lockedMigration), []),
    quotas: z.catch(shortList(quotaToRaise), []),
    vmmrqs: lockSchema.shape.vmmrqs,
    of: lockSchema.shape.of,
    ended: z.catch(lockSchema.shape.ended, undefined),
  }),
  z.transform((lock): Lock => {
    const longest = new Date(Date.parse(lock.expiresAt) - MAX_LOCK_SECONDS * 1_000).toISOString();
    return { ...lock, acquiredAt: lock.acquiredAt ?? longest };
  }),
);

/** The content of the lock annotation. Its meaning is fixed for every version: token, expiresAt. */
export type Lock = z.infer<typeof lockSchema>;

/** Whether the pod's identity is one of the lock's. Its creator is checked elsewhere. */
export function isLockedFor({ migrations }: Pick<Lock, 'migrations'>, pod: KubernetesObject): boolean {
  const identity = podIdentityOf(pod);
  return migrations.some((migration) => podIdentity(migration) === identity);
}

export type LockState =
  | { readonly kind: 'none' }
  /** The annotation or label is no valid lock: it counts as expired, is repaired and never replaced. */
  | { readonly kind: 'malformed'; readonly problem: string }
  | { readonly kind: 'held'; readonly lock: Lock; readonly labelled: boolean };

/** The lock by the namespace's annotation and label. */
export function lockOf(namespace: Namespace): LockState {
  const text = namespace.metadata.annotations?.[ANNOTATION.lock];
  const labelled = namespace.metadata.labels?.[LABEL.locked] !== undefined;
  if (text === undefined) {
    return labelled ? { kind: 'malformed', problem: 'the label without the annotation' } : { kind: 'none' };
  }
  const parsed = z.union([otherVersionSchema, lockSchema]).safeParse(parseJson(text));
  if (!parsed.success) return { kind: 'malformed', problem: z.prettifyError(parsed.error) };
  return { kind: 'held', lock: parsed.data, labelled };
}

/** The token that replaces that of an unreadable lock: by the very version of the namespace that has it. */
export const unreadableToken = ({ metadata }: Namespace): string => `unreadable-${metadata.resourceVersion}`;

/** Whether the lock is past its time, ended early, or longer than a lock may ever be. `now` is the API server's clock, milliseconds. */
export function isLockExpired(lock: Lock, now: number): boolean {
  if (lock.ended !== undefined) return true;
  const latest = Date.parse(lock.acquiredAt) + MAX_LOCK_SECONDS * 1_000;
  return now >= Math.min(Date.parse(lock.expiresAt), latest);
}

/** Whether no fence is possible, because a policy refuses our writes to a quota: the raise, and after the lock's end the fence as well. */
export const isUnfenced = (lock: Pick<Lock, 'ended'> | undefined): boolean => lock?.ended?.unfenced === true;

/** The live lock of the namespace; undefined: there is none, or it is past its time. */
export function liveLock(namespace: Namespace, now: number): Lock | undefined {
  const state = lockOf(namespace);
  return state.kind === 'held' && !isLockExpired(state.lock, now) ? state.lock : undefined;
}

/** The annotations of a lock on its namespace: set together, removed together. */
const OF_LOCK = [ANNOTATION.lock, ANNOTATION.token, ANNOTATION.migrations, ANNOTATION.breakGlass] as const;

/**
 * The namespace with the lock and its label. CEL policies read the token and the pods from flat annotations. An old
 * break-glass is removed: the API server honours only a value that a write newly sets.
 */
export function withLock(namespace: Namespace, lock: Lock): Namespace {
  const { metadata } = namespace;
  const { [ANNOTATION.breakGlass]: _breakGlass, ...annotations } = metadata.annotations ?? {};
  return {
    ...namespace,
    metadata: {
      ...metadata,
      annotations: {
        ...annotations,
        [ANNOTATION.lock]: JSON.stringify(lock),
        [ANNOTATION.token]: lock.token,
        [ANNOTATION.migrations]: podIdentities(lock.migrations),
      },
      labels: { ...metadata.labels, [LABEL.locked]: 'true' },
    },
  };
}

/** The namespace without the lock, and with the record of the attempt. */
export function withoutLock(namespace: Namespace, lastAttempt: string | undefined): Namespace {
  const gone: readonly string[] = [...OF_LOCK, ANNOTATION.lastAttempt];
  const kept = Object.entries(namespace.metadata.annotations ?? {}).filter(([key]) => !gone.includes(key));
  const { [LABEL.locked]: _label, ...labels } = namespace.metadata.labels ?? {};
  const record = lastAttempt === undefined ? {} : { [ANNOTATION.lastAttempt]: lastAttempt };
  return {
    ...namespace,
    metadata: { ...namespace.metadata, annotations: { ...Object.fromEntries(kept), ...record }, labels },
  };
}

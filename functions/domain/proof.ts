import { type ForeignText } from './foreign-text.ts';
import { parseJson, shortList, textRecord } from './bounded.ts';
import { isLockExpired, LOCK_VERSION, type Lock } from './lock.ts';
import { ANNOTATION, PURPOSES } from './names.ts';
import type { Namespace } from './objects.ts';
import { clusterWideName } from './vmmrq-name.ts';
import * as z from '../runtime/zod.ts';

const text = z.string().check(z.minLength(1));
const reference = z.object({ name: text, uid: text });

/** The content of the guard's refusal of a proof: the lock that it read live, as JSON in a cause of reason WEBHOOK.locked. */
const proofSchema = z.object({
  /**
   * The lock's token; left out if the lock proves nothing: it is past its time, was ended, or is of another version; or the
   * guard withholds it.
   */
  token: z.optional(text),
  expiresAt: z.iso.datetime({ offset: true }),
  migrations: shortList(
    z.extend(reference, {
      vmi: text,
      lacks: z.optional(z.literal('attachment')),
      receives: z.optional(z.literal(true)),
      purpose: z.optional(z.enum(PURPOSES)),
    }),
  ),
  /** What the migrations will be charged in each, by canonical key. */
  quotas: shortList(z.extend(reference, { need: z.optional(textRecord()) })),
  /** Names of the VMMRQs that the lock was taken by. */
  vmmrqs: shortList(z.string()),
  /** The namespace's labels, where cluster-wide VMMRQs are among them: these must still select it. */
  labels: z.optional(textRecord()),
  /** The namespace opts out. */
  skip: z.optional(z.literal(true)),
  /** The incumbent is installed: how it was detected. */
  incumbent: z.optional(text),
  /** The lock is live, but the guard withholds the proof: why. */
  withheld: z.optional(text),
});
export type ProvenLock = z.infer<typeof proofSchema>;

/** What the guard knows of the incumbent, for one namespace. */
export type IncumbentState =
  | { readonly kind: 'absent' }
  /** `message`: how it was detected, and what to do. */
  | { readonly kind: 'present'; readonly message: string }
  /** The incumbent may be installed, so no raise is allowed. */
  | { readonly kind: 'unknown'; readonly why: string };

export interface ProofInput {
  readonly lock: Lock;
  /** The namespace, read live as the lock was. */
  readonly namespace: Namespace;
  /** The API server's clock at that read, milliseconds. */
  readonly now: number;
  readonly incumbent: IncumbentState;
}

/** The guard's statement about this lock. */
export function proofOf({ lock, namespace, now, incumbent }: ProofInput): ProvenLock {
  // Without a valid time (0, NaN) no lock is proven.
  const proves = now > 0 && lock.v === LOCK_VERSION && !isLockExpired(lock, now);
  return {
    ...(proves ? tokenOr(incumbent, lock) : {}),
    expiresAt: lock.expiresAt,
    migrations: lock.migrations.map(({ name, uid, vmi, lacks, receives, purpose }) => ({
      ...{ name, uid, vmi },
      ...(receives === undefined ? {} : { receives }),
      ...(purpose === undefined ? {} : { purpose }),
      ...(lacks === undefined ? {} : { lacks }),
    })),
    quotas: lock.quotas.map(({ name, uid, need }) => ({
      ...{ name, uid },
      ...(need === undefined ? {} : { need }),
    })),
    vmmrqs: [...lock.vmmrqs],
    ...(lock.vmmrqs.some((name) => clusterWideName(name) !== undefined)
      ? { labels: namespace.metadata.labels ?? {} }
      : {}),
    ...(namespace.metadata.annotations?.[ANNOTATION.skip] === 'true' ? { skip: true as const } : {}),
    ...(incumbent.kind === 'present' ? { incumbent: incumbent.message } : {}),
  };
}

const tokenOr = (incumbent: IncumbentState, { token }: Lock): Pick<ProvenLock, 'token' | 'withheld'> =>
  incumbent.kind === 'unknown' ? { withheld: incumbent.why } : { token };

/** The lock in a refusal's text; undefined: the text is not the guard's. */
export function proofIn(text: ForeignText): ProvenLock | undefined {
  const parsed = proofSchema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : undefined;
}

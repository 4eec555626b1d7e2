import * as z from 'zod';
import { allowanceFrom, raiseBy } from './allowance.ts';
import { ownersOf, ownerSchema } from './field-ownership.ts';
import { parseJson, passOf, type Admitted, type QuotaToRaise } from '../lock.ts';
import { missingOf } from './room.ts';
import { ANNOTATION, LABEL } from '../names.ts';
import type { ResourceList, ResourceQuota, Vmmrq } from '../objects.ts';
import { formatQuantity, isHardQuantity, parseQuantity } from '../quantity.ts';

/** A quantity that the API server would not take back makes the whole record unreadable. */
const texts = z.record(z.string(), z.string().refine(isHardQuantity));

/** `token`, `original` and `raised` mean the same in every version; what else another version writes loses no original. */
const grantSchema = z.looseObject({
  v: z.number().int(),
  token: z.string().min(1),
  /** Unknown: long ago, so that it counts as stalled. */
  raisedAt: z.iso.datetime({ offset: true }).catch('1970-01-01T00:00:00.000Z'),
  /** What spec.hard said before, to the letter, for the raised keys only. */
  original: texts,
  raised: texts,
  vmmrqs: z.array(z.object({ name: z.string(), uid: z.string() })).catch([]),
  /** Who owned the raised keys (server-side apply), to hand them back; what cannot be read hands nothing back. */
  managers: z.record(z.string(), z.array(ownerSchema).catch([])).catch({}),
});

/** The record of a raise, written in the raise's own PUT. `original` and `raised` keep their meaning in every version. */
export type Grant = z.infer<typeof grantSchema>;

export const GRANT_VERSION = 1;

export type GrantState =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'held'; readonly grant: Grant };

/** What the quota's annotation says; a label alone is an unreadable grant. */
export function grantOf(quota: ResourceQuota): GrantState {
  const text = quota.metadata.annotations?.[ANNOTATION.grant];
  if (text === undefined) {
    return quota.metadata.labels?.[LABEL.raised] === undefined
      ? { kind: 'none' }
      : { kind: 'malformed', why: 'the label without the annotation' };
  }
  return grantIn(text);
}

/** What the annotation's text says. */
export function grantIn(text: string): Exclude<GrantState, { kind: 'none' }> {
  const parsed = grantSchema.safeParse(parseJson(text));
  if (!parsed.success) return { kind: 'malformed', why: z.prettifyError(parsed.error) };
  return { kind: 'held', grant: parsed.data };
}

export interface RaiseOrder {
  readonly token: string;
  readonly migrations: readonly Admitted[];
  readonly vmmrqs: readonly Vmmrq[];
  /** The API server's clock, milliseconds. */
  readonly now: number;
  /** What the lock says of its quotas. */
  readonly quotas?: readonly QuotaToRaise[];
}

/**
 * Write ① of a quota: spec raised by what the namespace's VMMRQs give (of policy Exact: only by what is missing, as just
 * read), grant and label in the same PUT. Only keys that the quota has and that pods are charged for; undefined when
 * nothing would rise. The quota must hold no grant: `original` is only ever taken from one without.
 */
export function raisedQuota(quota: ResourceQuota, order: RaiseOrder): ResourceQuota | undefined {
  const hard = quota.spec.hard ?? {};
  const allowance = allowanceFrom(order.vmmrqs);
  const need = order.quotas?.find(({ uid }) => uid === quota.metadata.uid)?.need;
  const original: ResourceList = {};
  const raised: ResourceList = {};
  for (const [key, text] of Object.entries(hard)) {
    const more = raiseBy(allowance(quota, key), need === undefined ? undefined : missingOf(quota, key, need));
    if (more <= 0n) continue;
    original[key] = text;
    raised[key] = formatQuantity(parseQuantity(text) + more);
  }
  if (Object.keys(raised).length === 0) return undefined;
  // In this order: the policy own-writes reads the text (docs/adr/0011).
  const grant: Grant = {
    v: GRANT_VERSION,
    token: order.token,
    raisedAt: new Date(order.now).toISOString(),
    original,
    raised,
    vmmrqs: order.vmmrqs.map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid })),
    managers: managersOf(quota, Object.keys(raised)),
  };
  const { metadata } = quota;
  return {
    ...quota,
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        [ANNOTATION.grant]: JSON.stringify(grant),
        [ANNOTATION.migrations]: order.migrations.map(passOf).join(','),
      },
      labels: { ...metadata.labels, [LABEL.raised]: 'true' },
    },
    spec: { ...quota.spec, hard: { ...hard, ...raised } },
  };
}

function managersOf({ metadata }: ResourceQuota, keys: readonly string[]): Grant['managers'] {
  return Object.fromEntries(keys.map((key) => [key, ownersOf(metadata.managedFields ?? [], key)]));
}

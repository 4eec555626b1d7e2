import { parseJson, shortList, textRecord } from '../bounded.ts';
import { podIdentities, type LockedMigration, type QuotaToRaise } from '../lock.ts';
import { ANNOTATION, LABEL } from '../names.ts';
import type { ResourceList, ResourceQuota } from '../objects.ts';
import { isHardQuantity } from '../quantity.ts';
import * as z from '../../runtime/zod.ts';

/** A quantity that the API server would not take makes the whole record unreadable. */
const texts = textRecord(isHardQuantity);
const references = shortList(z.object({ name: z.string(), uid: z.string() }));
const time = z.iso.datetime({ offset: true });
/** The default for a time that another version left out or wrote differently: long ago. */
const LONG_AGO = '1970-01-01T00:00:00.000Z';

const grantSchema = z.looseObject({
  v: z.int(),
  token: z.string().check(z.minLength(1)),
  raisedAt: z.catch(time, LONG_AGO),
  /** raisedAt by the clock of the process that raised: with milliseconds, for people. */
  clockAt: z.catch(time, LONG_AGO),
  /** Time of the last raise of status.hard: later than raisedAt where a recount undid the raise. */
  standingSince: z.catch(time, LONG_AGO),
  /** The lock's expiry. */
  expiresAt: z.catch(time, LONG_AGO),
  /** What status.hard was raised to, for the raised keys only. */
  raised: texts,
  /** The `used` at which the pods of the raise are charged. */
  target: z.catch(texts, {}),
  /** How often this token has raised the quota: a recount undoes a raise (MAX_RAISES). */
  raises: z.catch(z.int(), 1),
  /** Every quota of the lock, this one too. */
  quotas: z.catch(references, []),
  /** The migrations, for people; the flat annotation names the pods. */
  migrations: z.catch(references, []),
  vmmrqs: z.catch(references, []),
});

/** The record of a raise, written in the raise's own PUT. `token`, `expiresAt`, `raised` mean the same in every version. */
export type Grant = z.infer<typeof grantSchema>;

export const GRANT_VERSION = 1;

type GrantState =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly problem: string }
  | { readonly kind: 'held'; readonly grant: Grant };

/** The grant by the quota's annotation; a label alone is an unreadable grant. */
export function grantOf(quota: ResourceQuota): GrantState {
  const text = quota.metadata.annotations?.[ANNOTATION.grant];
  if (text === undefined) {
    return quota.metadata.labels?.[LABEL.raised] === undefined
      ? { kind: 'none' }
      : { kind: 'malformed', problem: 'the label without the annotation' };
  }
  return grantIn(text);
}

/** The grant in the annotation's text. */
export function grantIn(text: string): Exclude<GrantState, { kind: 'none' }> {
  const parsed = grantSchema.safeParse(parseJson(text));
  if (!parsed.success) return { kind: 'malformed', problem: z.prettifyError(parsed.error) };
  return { kind: 'held', grant: parsed.data };
}

/** The quota's grant of this token; undefined: it has none, or another's. */
export function grantBy(quota: ResourceQuota, token: string): Grant | undefined {
  const state = grantOf(quota);
  return state.kind === 'held' && state.grant.token === token ? state.grant : undefined;
}

/** The quota with this grant: record, label and status.hard in one object, which one PUT of its status stores. */
export function withGrant(
  quota: ResourceQuota,
  grant: Grant,
  migrations: readonly Pick<LockedMigration, 'uid' | 'vmi' | 'lacks'>[],
): ResourceQuota {
  const { metadata, status } = quota;
  const hard: ResourceList = { ...status?.hard, ...grant.raised };
  return {
    ...quota,
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        [ANNOTATION.grant]: JSON.stringify(grant),
        [ANNOTATION.migrations]: podIdentities(migrations),
      },
      labels: { ...metadata.labels, [LABEL.raised]: 'true' },
    },
    status: { ...status, hard },
  };
}

/** The lock's entry for this very quota (by uid); undefined: the quota is not the lock's. */
export const orderFor = (
  { metadata }: ResourceQuota,
  quotas: readonly QuotaToRaise[],
): QuotaToRaise | undefined => quotas.find(({ uid }) => uid === metadata.uid);

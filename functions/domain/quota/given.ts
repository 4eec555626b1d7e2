import type { ClusterVmmrq, Given, ResourceQuota, Vmmrq } from '../objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../quantity.ts';
import { allowanceFrom } from './allowance.ts';
import { grantBy } from './grant.ts';

/*
 * status.given of a cluster-wide VMMRQ: what was raised by it lately, and for whom. A report for people: no decision reads it.
 */

/** Maximum number of entries, as in the CRD. */
export const MAX_GIVEN = 20;
/** Maximum number of migrations in an entry, as in the CRD: a tenant chooses their number and names. */
export const MAX_GIVEN_TO = 5;

/** A VMMRQ among all that gave to a lock, in their order: each gives what those before it did not. */
export interface Giver {
  readonly vmmrq: Vmmrq;
  readonly givers: readonly Vmmrq[];
}

/** Entries for the quotas that are raised for this lock, one for each that the giver gave to. */
export const givenBy = (token: string, quotas: readonly ResourceQuota[], giver: Giver): Given[] =>
  quotas.flatMap((quota) => {
    const grant = grantBy(quota, token);
    if (grant === undefined) return [];
    const { name, namespace = '' } = quota.metadata;
    const amounts = Object.entries(grant.raised).flatMap(([key, to]) => {
      const more = parseQuantity(to) - parseQuantity(quota.spec.hard?.[key] ?? '0');
      const share = shareOf(giver, more, (givers) => allowanceFrom(givers)(quota, key).max);
      return share > 0n ? [[key, formatQuantity(share)] as const] : [];
    });
    if (amounts.length === 0) return [];
    const migrations = grant.migrations.slice(0, MAX_GIVEN_TO).map((migration) => migration.name);
    return [{ at: grant.raisedAt, namespace, quota: name, amounts: Object.fromEntries(amounts), migrations }];
  });

/** The giver's part of a raise by `more`; `most`: what so many of the givers may give together. */
function shareOf({ vmmrq, givers }: Giver, more: Amount, most: (givers: readonly Vmmrq[]) => Amount): Amount {
  const upTo = (index: number): Amount => {
    const together = most(givers.slice(0, index));
    return together < more ? together : more;
  };
  const index = givers.indexOf(vmmrq);
  return upTo(index + 1) - upTo(index);
}

/** The VMMRQ's status with these entries, newest first. A quota that is raised again after a recount keeps its one entry. */
export function withGiven(vmmrq: Vmmrq, given: readonly Given[]): NonNullable<ClusterVmmrq['status']> {
  const isAmong = (one: Given): boolean => given.some((other) => idOf(other) === idOf(one));
  const all = [...given, ...givenIn(vmmrq).filter((one) => !isAmong(one))];
  const newestFirst = all.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  return { ...vmmrq.status, given: newestFirst.slice(0, MAX_GIVEN) };
}

const givenIn = ({ status }: Vmmrq | ClusterVmmrq): readonly Given[] =>
  status !== undefined && 'given' in status ? status.given : [];

const idOf = ({ at, namespace, quota }: Given): string => `${at} ${namespace}/${quota}`;

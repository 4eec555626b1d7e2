import type { Grant } from '../../../functions/domain/quota/grant.ts';
import { loweredQuota } from '../../../functions/domain/quota/lower.ts';
import { raisedQuota } from '../../../functions/domain/quota/raise.ts';
import type { Lock } from '../../../functions/domain/lock.ts';
import { ANNOTATION, LABEL, type LockOutcome } from '../../../functions/domain/names.ts';
import type { ResourceList, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { aLock } from './namespace.ts';
import {
  annotated,
  build,
  labelled,
  metadata,
  NOW,
  seconds,
  type Change,
  type MetaChange,
} from './object.ts';

/** The quota of the recorded histories: headroom for one and a half launchers (test/recorded). */
export const RECORDED_HARD: ResourceList = {
  pods: '10',
  'requests.cpu': '1405m',
  'requests.memory': '2041974464',
};

/** ResourceQuota `quota`: enforced as in its spec, with one launcher (aLauncher) in use. */
export function aQuota(...changes: Change<ResourceQuota>[]): ResourceQuota {
  const base: ResourceQuota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: metadata('quota'),
    spec: { hard: RECORDED_HARD },
    status: {
      hard: RECORDED_HARD,
      used: { pods: '1', 'requests.cpu': '1005m', 'requests.memory': '1412828864' },
    },
  };
  return build(base, changes);
}

/** Sets spec.hard and status.hard; status.used of new keys is 0. */
export const hard =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => {
    const none = Object.fromEntries(Object.keys(list).map((key) => [key, '0']));
    const known = Object.entries(quota.status?.used ?? {}).filter(([key]) => key in list);
    return {
      ...quota,
      spec: { ...quota.spec, hard: list },
      status: { hard: list, used: { ...none, ...Object.fromEntries(known) } },
    };
  };

/** Sets only the spec: the quota controller has not followed. */
export const specHard =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({ ...quota, spec: { ...quota.spec, hard: list } });

export const enforced =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({ ...quota, status: { ...quota.status, hard: list } });

export const used =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({ ...quota, status: { ...quota.status, used: { ...quota.status?.used, ...list } } });

/** New: the quota controller has not handled it yet. */
export const uncounted = (): Change<ResourceQuota> => (quota) => ({ ...quota, status: {} });

/** With keys that the quota controller does not count. */
export const withUncounted =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({
    ...quota,
    spec: { ...quota.spec, hard: { ...quota.spec.hard, ...list } },
    status: { ...quota.status, hard: { ...quota.status?.hard, ...list } },
  });

export const scoped =
  (spec: Pick<ResourceQuota['spec'], 'scopes' | 'scopeSelector'>): Change<ResourceQuota> =>
  (quota) => ({ ...quota, spec: { ...quota.spec, ...spec } });

/** The quota after a raise for this lock: status.hard raised, with grant and label. `now`: milliseconds. */
export const raisedFor =
  (lock: Lock, vmmrq: Vmmrq, now = NOW): Change<ResourceQuota> =>
  (quota) => {
    const raised = raisedQuota(quota, { lock, vmmrqs: [vmmrq], now });
    if (raised === undefined) throw new Error('this VMMRQ gives nothing that this quota has');
    return raised;
  };

/** The same for a lock that names no amounts, by default of token-1. */
export const raisedBy =
  (vmmrq: Vmmrq, token = 'token-1'): Change<ResourceQuota> =>
  (quota) => {
    const lock = aLock({ token, quotas: [{ name: quota.metadata.name, uid: quota.metadata.uid }] });
    return raisedFor(lock, vmmrq, NOW - 4_000)(quota);
  };

/** The quota after a recount by the quota controller: status.hard is spec.hard, whatever label and grant say. */
export const recounted = (): Change<ResourceQuota> => (quota) => enforced(quota.spec.hard ?? {})(quota);

/** The quota after `lower`. */
export const loweredBy =
  (token = 'token-1', outcome: LockOutcome = 'admitted'): Change<ResourceQuota> =>
  (quota) =>
    loweredQuota(quota, { token, outcome });

/** The grant of a raise by 1200m CPU, and its label. */
export const holding =
  (grant: Grant): MetaChange =>
  (object) =>
    labelled(LABEL.raised)(annotated(ANNOTATION.grant, JSON.stringify(grant))(object));

/** The label, and an unreadable grant. */
export const holdingUnreadably =
  (text = '{'): MetaChange =>
  (object) =>
    labelled(LABEL.raised)(annotated(ANNOTATION.grant, text)(object));

/** Lowered by the lock of this token: the fence. */
export const fencedBy = (token: string, outcome: LockOutcome = 'admitted'): MetaChange =>
  annotated(ANNOTATION.lastRelease, `${token} ${outcome}`);

/** Grant of token-1, four seconds old: 1405m to 2605m CPU, for one more launcher (1005m). */
export function aGrant(different: Partial<Grant> = {}): Grant {
  return {
    v: 1,
    token: 'token-1',
    raisedAt: seconds(-4),
    clockAt: seconds(-4),
    standingSince: seconds(-4),
    expiresAt: seconds(25),
    raised: { 'requests.cpu': '2605m' },
    target: { 'requests.cpu': '2010m' },
    raises: 1,
    quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
    migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
    vmmrqs: [{ name: 'vmmrq', uid: 'uid-of-vmmrq' }],
    ...different,
  };
}

import type { Grant } from '../../../functions/domain/quota/grant.ts';
import { loweredQuota } from '../../../functions/domain/quota/lower.ts';
import { raisedQuota } from '../../../functions/domain/quota/raise.ts';
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

/** The quota of the recorded histories: room for one launcher and a half (test/recorded). */
export const RECORDED_HARD: ResourceList = {
  pods: '10',
  'requests.cpu': '1405m',
  'requests.memory': '2041974464',
};

/** ResourceQuota `quota`, enforced as it says, one launcher (aLauncher) used. */
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

/** The spec's, and enforced; what these keys have used is 0 unless it is known. */
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

/** Only what the spec says: the quota controller has not followed. */
export const specHard =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({ ...quota, spec: { ...quota.spec, hard: list } });

export const enforced =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({ ...quota, status: { ...quota.status, hard: list } });

/** The quota controller has followed: status.hard is what the spec says. */
export const fullyEnforced = (): Change<ResourceQuota> => (quota) => enforced(quota.spec.hard ?? {})(quota);

export const used =
  (list: ResourceList): Change<ResourceQuota> =>
  (quota) => ({ ...quota, status: { ...quota.status, used: { ...quota.status?.used, ...list } } });

/** Made a moment ago: the quota controller has not looked at it yet. */
export const uncounted = (): Change<ResourceQuota> => (quota) => ({ ...quota, status: {} });

export const scoped =
  (spec: Pick<ResourceQuota['spec'], 'scopes' | 'scopeSelector'>): Change<ResourceQuota> =>
  (quota) => ({ ...quota, spec: { ...quota.spec, ...spec } });

/** As `raise` writes it, for token-1 unless told otherwise: status.hard raised, grant and label beside it. */
export const raisedBy =
  (vmmrq: Vmmrq, token = 'token-1'): Change<ResourceQuota> =>
  (quota) => {
    const lock = aLock({ token, quotas: [{ name: quota.metadata.name, uid: quota.metadata.uid }] });
    const raised = raisedQuota(quota, { lock, vmmrqs: [vmmrq], now: NOW - 4_000 });
    if (raised === undefined) throw new Error('this VMMRQ gives nothing that this quota has');
    return raised;
  };

/** As a quota controller leaves it when it recounts: status.hard is spec.hard, whatever label and grant say. */
export const recounted = (): Change<ResourceQuota> => (quota) => enforced(quota.spec.hard ?? {})(quota);

/** As `lower` writes it. */
export const loweredBy =
  (token = 'token-1', outcome: LockOutcome = 'admitted'): Change<ResourceQuota> =>
  (quota) =>
    loweredQuota(quota, { token, outcome });

/** The record of a raise by 1200m CPU, and its label. */
export const holding =
  (grant: Grant): MetaChange =>
  (object) =>
    labelled(LABEL.raised)(annotated(ANNOTATION.grant, JSON.stringify(grant))(object));

/** A label and a record that nobody can read. */
export const holdingUnreadably =
  (text = '{'): MetaChange =>
  (object) =>
    labelled(LABEL.raised)(annotated(ANNOTATION.grant, text)(object));

/** Released by the lock of this token: the fence. */
export const fencedBy = (token: string, outcome: LockOutcome = 'admitted'): MetaChange =>
  annotated(ANNOTATION.lastRelease, `${token} ${outcome}`);

/** By token-1, four seconds ago: 1405m to 2605m CPU, for one launcher (1005m) more than is used. */
export function aGrant(different: Partial<Grant> = {}): Grant {
  return {
    v: 1,
    token: 'token-1',
    raisedAt: seconds(-4),
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

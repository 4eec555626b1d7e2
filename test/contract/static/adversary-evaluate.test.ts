import { expect, test } from '@jest/globals';
import type { ProvenLock } from '../../../functions/domain/proof.ts';
import { PROOF_QUOTA, SERVICE_ACCOUNT, userOf, WEBHOOK } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Entry } from '../../adversary/evidence.ts';
import { evaluate, type Evaluation } from '../../adversary/evaluate.ts';
import { aLauncher } from '../../support/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../support/builders/namespace.ts';
import { atVersion, createdAt, named, NOW, seconds } from '../../support/builders/object.ts';
import { aQuota, enforced, raisedBy, RECORDED_HARD } from '../../support/builders/quota.ts';
import { aVmmrq } from '../../support/builders/snapshot.ts';
import type { Version } from '../../support/tenant/history.ts';

/**
 * Real runs of test/adversary find no admitted pod; these cases show that it would find one. Locked at 0 s, proven at 1 s,
 * raised from 2 s to 4 s.
 */
const TENANT = 'tenant-admin';
const FREE = aNamespace();
const LOCKED = aNamespace(lockedBy(aLock()));
const QUOTA = aQuota(atVersion('2'));
const RAISED = raisedBy(aVmmrq())(aQuota(atVersion('4')));

const version = (revision: number, object: KubernetesObject): Version => ({
  kind: object.kind ?? '',
  revision,
  gone: false,
  object,
  at: NOW,
});

/** All versions except the tenant's pod, in order of revision. */
const CYCLE: readonly Version[] = [
  version(1, FREE),
  version(2, QUOTA),
  version(3, LOCKED),
  version(4, RAISED),
  version(7, aQuota(atVersion('7'), enforced(RECORDED_HARD))),
  version(9, FREE),
];

const entry = (received: number, different: Partial<Entry> & Pick<Entry, 'objectRef'>): Entry => ({
  verb: 'create',
  requestURI: '/',
  user: { username: TENANT },
  stage: 'ResponseComplete',
  requestReceivedTimestamp: seconds(received),
  stageTimestamp: seconds(received),
  responseStatus: { code: 201 },
  ...different,
});

/** The guard's refusal of the proof. */
const ANSWER: ProvenLock = {
  token: 'token-1',
  expiresAt: '2030-01-01T00:00:00.000Z',
  migrations: [],
  quotas: [],
  vmmrqs: [],
};
const PROOF = entry(1, {
  user: { username: userOf(SERVICE_ACCOUNT.raise) },
  requestURI: '/?dryRun=All',
  objectRef: { resource: 'resourcequotas', name: PROOF_QUOTA },
  responseStatus: {
    code: 403,
    details: { causes: [{ reason: WEBHOOK.locked, message: JSON.stringify(ANSWER) }] },
  },
});

/** A write of the quota's status that resulted in this version: the raise or the restore. */
const writes = (received: number, resourceVersion: string): Entry =>
  entry(received, {
    verb: 'update',
    user: { username: userOf(SERVICE_ACCOUNT.raise) },
    objectRef: { resource: 'resourcequotas', subresource: 'status', name: 'quota', resourceVersion },
    responseStatus: { code: 200 },
  });

const FOLLOWED = [writes(2, '2'), writes(4, '4')];
const createsPod = (received: number, different: Partial<Entry> = {}): Entry =>
  entry(received, { objectRef: { resource: 'pods', name: 'theirs' }, ...different });

interface Case {
  readonly name: string;
  /** The revision at which the tenant's pod appears; undefined: never. */
  readonly there: number | undefined;
  readonly request: Entry;
  readonly found: 'late' | 'outside' | 'none';
  readonly inWindows?: number;
}

const CASES: readonly Case[] = [
  {
    name: 'asked after the proof, in while raised',
    there: 6,
    request: createsPod(3),
    found: 'late',
    inWindows: 1,
  },
  { name: 'asked after the proof, in before the raise', there: 3.5, request: createsPod(1.5), found: 'late' },
  { name: 'asked before the proof, in while raised', there: 6, request: createsPod(0.9), found: 'outside' },
  { name: 'in before the lock', there: 2.5, request: createsPod(-1), found: 'none' },
  { name: 'in after the lock', there: 10, request: createsPod(5), found: 'none' },
  {
    name: 'refused',
    there: undefined,
    request: createsPod(3, { responseStatus: { code: 403 } }),
    found: 'none',
    inWindows: 1,
  },
  {
    name: 'answered with an error, and admitted nevertheless',
    there: 6,
    request: createsPod(3, { responseStatus: { code: 500 } }),
    found: 'late',
    inWindows: 1,
  },
  {
    name: 'created by another user',
    there: 6,
    request: createsPod(3, { user: { username: 'kubevirt-controller' } }),
    found: 'none',
  },
];

function evaluation({ there, request }: Case): Evaluation {
  const pod = aLauncher('vm0', named('theirs'), createdAt(3));
  const versions = there === undefined ? CYCLE : [...CYCLE, version(there, pod)];
  const inOrder = versions.toSorted((one, other) => one.revision - other.revision);
  return evaluate(inOrder, [PROOF, ...FOLLOWED, request], TENANT);
}

test.each(CASES)('$name: $found', (one) => {
  const { late, podsOutsideLock, inWindows } = evaluation(one);
  expect(late.map(({ what }) => what)).toEqual(one.found === 'late' ? ['theirs'] : []);
  expect(podsOutsideLock.map(({ what }) => what)).toEqual(one.found === 'outside' ? ['theirs'] : []);
  expect(inWindows).toBe(one.inWindows ?? 0);
});

test('the time that the quota was enforced raised, and that it was proven', () => {
  const { windows } = evaluate(CYCLE, [PROOF, ...FOLLOWED], TENANT);
  expect(windows).toEqual([{ from: NOW + 2_000, until: NOW + 4_000, token: 'token-1', isProven: true }]);
});

test.each([
  ['no proof', [...FOLLOWED]],
  ['a proof that came later', [{ ...PROOF, stageTimestamp: seconds(2.5) }, ...FOLLOWED]],
])('%s: the raise is not proven', (_what, entries) => {
  expect(evaluate(CYCLE, entries, TENANT).windows).toMatchObject([{ isProven: false }]);
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withLock } from '../../../functions/domain/lock.ts';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import { KUBEVIRTS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { writeByHand } from '../../support/tenant/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards, type Replica } from '../../support/environment/guards.ts';

/** As on OpenShift, KubeVirt is in another namespace than the guard's configuration says. */
const ELSEWHERE = { namespace: 'openshift-cnv', name: 'kubevirt-kubevirt-hyperconverged' };
const HERE = { namespace: 'kubevirt', name: 'kubevirt' };
const LONG_AGO_MS = 60_000;

let guards: Guards;

beforeAll(async () => {
  guards = await startGuards({ OVERDUE_SECONDS: '1', SWEEP_SECONDS: '1', CA_LEAD_MS: '0' });
  await guards.admin.create(NAMESPACES, { metadata: { name: ELSEWHERE.namespace } });
});

afterAll(async () => {
  await guards.stop();
});

async function installed(at: typeof HERE, version: string): Promise<void> {
  const type = KUBEVIRTS;
  const { object } = await guards.admin.create(type, { metadata: at, spec: {} });
  const status = { observedKubeVirtVersion: version };
  await guards.admin.replace(type, { ...object, status }, { subresource: 'status' });
}

/** An expired lock that no function will end. */
async function lockOfThePast(name: string): Promise<void> {
  const { object } = await guards.admin.create(NAMESPACES, { metadata: { name } });
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const lock = { v: 1, token: 't', acquiredAt: at(-LONG_AGO_MS), expiresAt: at(1_000 - LONG_AGO_MS) };
  const locked = withLock(object, { ...lock, migrations: [], quotas: [], vmmrqs: [], of: '' });
  await writeByHand(guards.admin, name, locked.metadata);
}

const isLocked = async (name: string): Promise<boolean> => {
  const { annotations = {}, labels = {} } = (await guards.admin.get(NAMESPACES, { name })).object.metadata;
  return annotations[ANNOTATION.lock] !== undefined || labels[LABEL.locked] !== undefined;
};

const untilProblem = (replica: Replica, isIt: (problem: string) => boolean): Promise<string> =>
  askUntil('the guard has looked around', () => replica.problem(), isIt);

describe('KubeVirt is not in the configured namespace', () => {
  let replica: Replica;

  beforeAll(async () => {
    await installed(ELSEWHERE, 'v1.6.0');
    replica = await guards.start('misled', 'liveness');
  });

  test('the guard is not ready, and says why', async () => {
    const problem = await untilProblem(replica, (text) => text.includes('KubeVirt'));
    expect(problem).toBe(
      'KUBEVIRT_NAMESPACE is kubevirt, but KubeVirt kubevirt-kubevirt-hyperconverged is in namespace ' +
        'openshift-cnv: see docs/operations.md, KubeVirt elsewhere',
    );
  });

  test('the guard nevertheless ends an expired lock', async () => {
    await lockOfThePast('left-over');
    await askUntil(
      'it is unlocked',
      () => isLocked('left-over'),
      (locked) => !locked,
    );
    expect(await replica.problem()).toContain('KUBEVIRT_NAMESPACE');
  });
});

test('with KubeVirt in its namespace but too old the guard is not ready', async () => {
  await installed(HERE, 'v0.59.2');
  const replica = await guards.start('young', 'liveness');
  const problem = await untilProblem(replica, (text) => text.includes('v0.59.2'));
  expect(problem).toBe('KubeVirt is v0.59.2: 1.0 is the oldest that is supported');
});

test('with a supported KubeVirt a starting guard is ready', async () => {
  const type = KUBEVIRTS;
  const { object } = await guards.admin.get(type, HERE);
  const status = { observedKubeVirtVersion: 'v1.6.0' };
  await guards.admin.replace(type, { ...object, status }, { subresource: 'status' });
  expect(await (await guards.start('right')).problem()).toBe('');
});

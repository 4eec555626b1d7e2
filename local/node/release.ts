import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { lockOf } from '../../functions/domain/lock.ts';
import { ANNOTATION, EVENT, KUBEVIRT } from '../../functions/domain/names.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { STEPS } from '../../functions/steps.ts';
import { FULL_MIGRATIONS, FULL_VMIS, newMigration, newVirtualMachineInstance } from '../kubevirt/objects.ts';
import { startKubeVirt } from '../kubevirt/start.ts';
import type { NodeCluster } from './cluster.ts';
import { carry, type Answer, type Carried } from './events.ts';
import { until } from './until.ts';

const namespace = 'migrating';
const QUOTA = { name: 'compute', namespace };
const MIGRATION = { name: 'migration', namespace };
/** Room for the VM, and not for the second launcher of its migration. */
const HARD = { 'requests.cpu': '1500m', 'requests.memory': '2Gi', pods: '5' };
const GIVES = { 'requests.cpu': '1500m', 'requests.memory': '2Gi' };

const WITHIN_MS = 60_000;
const AGAIN_MS = 100;

/** The steps in the order in which they answered, each once. */
export type Way = readonly string[];

/**
 * One release, from the pods of ours: a migration that a quota keeps out gets through. Of KubeVirt the stand-in plays (its
 * launchers are for nodes that there are not; ours does not run them), and we carry the replies from step to step.
 */
export async function releaseOne(
  { controlPlane, admin }: Pick<NodeCluster, 'controlPlane' | 'admin'>,
  addresses: ReadonlyMap<string, string>,
): Promise<Way> {
  const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
  const kubevirt = await startKubeVirt({ cluster: connect(await controlPlane.kubeconfigFor(account)) });
  await untilKeptOut(admin);
  const way = await carryOn({ type: EVENT.sweepRequested, data: JSON.stringify({ namespace }) }, addresses);
  assert.deepEqual(
    way,
    STEPS.map(({ name }) => name),
    'the steps that a release takes',
  );
  await until(WITHIN_MS, async () => {
    const { object } = await admin.get(MIGRATIONS, MIGRATION);
    return object.status?.phase === 'Succeeded'
      ? undefined
      : `the migration is ${object.status?.phase ?? 'new'}`;
  });
  await isAsBefore(admin);
  await kubevirt.stop();
  return way;
}

/** A tenant's VM runs, and the quota refuses the target pod of its migration. */
async function untilKeptOut(admin: Cluster): Promise<void> {
  await admin.create(NAMESPACES, { metadata: { name: namespace } });
  await admin.create(RESOURCE_QUOTAS, { metadata: QUOTA, spec: { hard: HARD } });
  await until(WITHIN_MS, async () => {
    const { object } = await admin.get(RESOURCE_QUOTAS, QUOTA);
    return object.status?.hard === undefined ? 'the quota has no status' : undefined;
  });
  await admin.create(FULL_VMIS, newVirtualMachineInstance({ namespace, name: 'vm' }));
  await until(WITHIN_MS, async () => {
    const { object } = await admin.get(FULL_VMIS, { namespace, name: 'vm' });
    return object.status?.phase === 'Running' ? undefined : 'the VM does not run';
  });
  const metadata = { name: 'migrations', namespace };
  await admin.create(VMMRQS, { metadata, spec: { additionalMigrationResources: GIVES } });
  await admin.create(FULL_MIGRATIONS, newMigration({ ...MIGRATION, vmi: 'vm' }));
  await until(WITHIN_MS, async () => {
    const { object } = await admin.get(MIGRATIONS, MIGRATION);
    const refused = object.status?.conditions?.some(({ type }) => type === KUBEVIRT.rejectedByQuota);
    return refused === true ? undefined : 'the quota does not refuse the target pod';
  });
}

/** From reply to reply, until a step has none. */
async function carryOn(first: Carried, addresses: ReadonlyMap<string, string>): Promise<Way> {
  const way: string[] = [];
  for (let event: Carried | undefined = first; event !== undefined;) {
    const answer: Answer = await untilDone(event, addresses);
    way.push(answer.step);
    event = answer.reply;
  }
  return way;
}

/** "Not yet" is an answer of 204 without a reply: lower's, until the target pod is there. Its Triggers would wake it again. */
async function untilDone(event: Carried, addresses: ReadonlyMap<string, string>): Promise<Answer> {
  const end = performance.now() + WITHIN_MS;
  for (;;) {
    const answer = await carry(event, addresses);
    const { step, status, reply } = answer;
    assert([200, 204].includes(status), `${step} answers ${event.type} with ${status}`);
    const waits = reply === undefined && step === 'lower';
    if (!waits || performance.now() > end) return answer;
    await delay(AGAIN_MS);
  }
}

async function isAsBefore(admin: Cluster): Promise<void> {
  const { object: quota } = await admin.get(RESOURCE_QUOTAS, QUOTA);
  assert.deepEqual([quota.spec.hard, quota.status?.hard], [HARD, HARD], 'the quota is what it was');
  const kept = Object.keys(quota.metadata.annotations ?? {});
  assert.deepEqual(kept, [ANNOTATION.lastRelease], 'it was raised, and put back');
  const { object } = await admin.get(NAMESPACES, { name: namespace });
  assert.equal(lockOf(object).kind, 'none', 'the namespace is free');
}

import assert from 'node:assert/strict';
import { EVENT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { STEPS } from '../../functions/steps.ts';
import { policiesInForce } from '../policies-in-force.ts';
import type { NodeCluster } from './cluster.ts';
import { carry } from './events.ts';
import { lookAt } from './process.ts';
import { releaseOne } from './release.ts';
import { lockByHand, makeTenant, PLAIN_POD, refusalOf, TENANTS_NAMESPACE, untilFreed } from './reviews.ts';
import type { Row } from './table.ts';
import { until } from './until.ts';
import { applyManifests, untilReady, type ReadyPod } from './workloads.ts';

const LABEL_MS = 5_000;

export interface Checked {
  readonly cluster: NodeCluster;
  /** The rendered manifests. */
  readonly objects: readonly KubernetesObject[];
  readonly say: (line: string) => void;
}

/** Installs, and asks every pod what it is for. Resolves with a row for each; rejects at the first that is not as it should be. */
export async function runChecks({ cluster, objects, say }: Checked): Promise<Row[]> {
  const { admin } = cluster;
  say('applying the rendered manifests, a pod for each Knative Service');
  const count = await applyManifests(admin, objects);
  const untilPoliciesStand = await policiesInForce(admin);
  const pods = await untilReady(admin, count, ({ pod, readyAfterMs }) =>
    say(`${pod.metadata.name} is ready by its own probe after ${(readyAfterMs / 1_000).toFixed(1)} s`),
  );
  await untilPoliciesStand();
  await ourNamespaceIsRestricted(cluster, say);
  const rows = await confined(cluster, pods);
  say(
    `all ${rows.length} run as uid ${rows[0]?.uid ?? '?'}: no capabilities, a seccomp filter, a read-only root`,
  );
  const tenant = await makeTenant(cluster);
  const addresses = new Map(pods.map(({ pod }) => [pod.metadata.name, pod.status?.podIP ?? '']));
  const answers = await askFunctions(addresses, say);
  const way = await releaseOne(cluster, addresses);
  say(`a migration that a quota kept out is through, by ${way.join(', ')}; the quota is what it was`);
  await reviews(cluster, tenant, say);
  return rows.map((row) => ({ ...row, answer: answers.get(row.pod) ?? 'reviews' }));
}

type Say = Checked['say'];
/** Of a pod, by its name. */
type Addresses = ReadonlyMap<string, string>;

async function ourNamespaceIsRestricted({ admin }: NodeCluster, say: Say): Promise<void> {
  const refusal = await refusalOf(admin, SYSTEM_NAMESPACE, PLAIN_POD);
  assert.match(
    refusal ?? 'admitted',
    /violates PodSecurity "restricted/,
    'a pod with liberties in our namespace',
  );
  say(`${SYSTEM_NAMESPACE} enforces restricted Pod Security: a pod with liberties is refused there`);
}

async function confined({ containerd }: NodeCluster, pods: readonly ReadyPod[]): Promise<Row[]> {
  const pids = await containerd.pids();
  return pods.map(({ pod, readyAfterMs }) => {
    const id = pod.status?.containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '';
    const pid = pids.get(id);
    assert(pid !== undefined, `${pod.metadata.name} has no process`);
    const { uid, rssMiB, liberties } = lookAt(pid);
    assert.deepEqual(liberties, [], `${pod.metadata.name} has liberties`);
    return { pod: pod.metadata.name, readyAfterMs, uid, rssMiB, answer: '' };
  });
}

/** Each function gets one event of ours about a namespace where nothing is to be done; its status by its name. */
async function askFunctions(addresses: Addresses, say: Say): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const data = JSON.stringify({ namespace: TENANTS_NAMESPACE, token: 'token-1' });
  for (const { name, wakesOn } of STEPS) {
    const type = wakesOn.find((each) => Object.values<string>(EVENT).includes(each.type))?.type ?? '';
    const { step, status } = await carry({ type, data }, addresses);
    // It asked the API server: out of reach would be 503.
    assert.deepEqual([step, status], [name, 204], `${name} answers ${type} where nothing is to be done`);
    answers.set(name, String(status));
  }
  say(`each function answers an event with 204: ${[...answers.keys()].join(', ')}`);
  return answers;
}

type Tenant = Awaited<ReturnType<typeof makeTenant>>;

async function reviews({ admin }: NodeCluster, tenant: Tenant, say: Say): Promise<void> {
  const ask = (): Promise<string | undefined> => refusalOf(tenant, TENANTS_NAMESPACE, PLAIN_POD);
  assert.equal(await ask(), undefined, "a tenant's pod in a namespace that is not locked");
  await lockByHand(admin);
  // The API server's cache hears of the label a moment later.
  let refusal: string | undefined;
  await until(LABEL_MS, async () => {
    refusal = await ask();
    return refusal === undefined ? "a tenant's pod is admitted to a locked namespace" : undefined;
  });
  assert.match(refusal ?? '', /denied the request/, "a tenant's pod in a locked namespace");
  say(`the guard refuses a tenant's pod in a locked namespace: ${refusal ?? ''}`);
  await untilFreed(admin);
  assert.equal(await ask(), undefined, "a tenant's pod in a namespace that was unlocked");
  say('the guard freed it when the lock was overdue, and the pod is admitted');
}

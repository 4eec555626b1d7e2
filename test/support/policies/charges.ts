import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { canonicalKey } from '../../../functions/domain/quota/charged.ts';
import { mustSpecify } from '../../../functions/domain/sizing/must-specify.ts';
import type { Pod, ResourceQuota, ScopeSelectorTerm } from '../../../functions/domain/objects.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { quotaCoversPod } from '../../../functions/domain/quota/scopes.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { CONFIG_MAPS } from '../../../functions/kubernetes/live-resources.ts';
import { PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../environment/control-plane.ts';
import { installKubeVirt } from '../../cluster/kubevirt/install.ts';
import { createNamespace, until } from '../kubevirt/harness.ts';
import { OTHER_KEYS, POD_KEYS } from '../fuzz/cases.ts';
import { createOrRefusal, isRefusal } from '../preflight/refusal.ts';
import { installClasses, podOfShape, SHAPES } from './pod-shapes.ts';

/*
 * Compares our charge of a pod, by key and scope, with the real API server's charge. virt-controller's account creates a pod of
 * every shape under every quota.
 */

const KEYS = [...POD_KEYS, ...OTHER_KEYS];

const byClass = (operator: ScopeSelectorTerm['operator'], ...values: string[]): ResourceQuota['spec'] => ({
  scopeSelector: {
    matchExpressions: [{ scopeName: 'PriorityClass', operator, ...(values.length === 0 ? {} : { values }) }],
  },
});

const SCOPES: Readonly<Record<string, ResourceQuota['spec']>> = {
  Terminating: { scopes: ['Terminating'] },
  NotTerminating: { scopes: ['NotTerminating'] },
  BestEffort: { scopes: ['BestEffort'] },
  NotBestEffort: { scopes: ['NotBestEffort'] },
  PriorityClass: { scopes: ['PriorityClass'] },
  CrossNamespacePodAffinity: { scopes: ['CrossNamespacePodAffinity'] },
  'PriorityClass Exists': byClass('Exists'),
  'PriorityClass DoesNotExist': byClass('DoesNotExist'),
  'PriorityClass In': byClass('In', 'high', 'other'),
  'PriorityClass NotIn': byClass('NotIn', 'high'),
  'two scopes': { scopes: ['NotBestEffort', 'NotTerminating'] },
  'a scope and a selector': { scopes: ['NotBestEffort'], ...byClass('In', 'high') },
  VolumeAttributesClass: {
    scopeSelector: { matchExpressions: [{ scopeName: 'VolumeAttributesClass', operator: 'Exists' }] },
  },
};

/** Keys that the API server allows besides pods in a quota with scopes (kubernetes pkg/apis/core/helper, podComputeQuotaResources). */
const COMPUTE = ['cpu', 'requests.cpu', 'limits.cpu', 'memory', 'requests.memory', 'limits.memory'];
/** Scopes with which it allows only pods, or no key of pods at all. */
const COUNT_ONLY = ['BestEffort', 'VolumeAttributesClass'];

const PLENTY = '1000000000000';
export const SINGLES: Readonly<Record<string, ResourceQuota['spec']>> = {
  ...Object.fromEntries(KEYS.map((key) => [key, { hard: { [key]: PLENTY } }])),
  ...Object.fromEntries(
    Object.entries(SCOPES).map(([name, spec]) => [name, { ...spec, hard: countOf(name) }]),
  ),
};
/** Each scope with each key of the compute resources. */
export const PAIRS: Readonly<Record<string, ResourceQuota['spec']>> = Object.fromEntries(
  Object.entries(SCOPES)
    .filter(([scope]) => !COUNT_ONLY.includes(scope))
    .flatMap(([scope, spec]) =>
      COMPUTE.map((key) => [`${key}, ${scope}`, { ...spec, hard: { [key]: PLENTY } }]),
    ),
);

function countOf(scope: string): Record<string, string> {
  return scope === 'VolumeAttributesClass' ? { persistentvolumeclaims: PLENTY } : { pods: PLENTY };
}

/** Tests each quota in a namespace of its own. The function that it returns, for a later test: the quotas that any shape of pod was charged to. */
export function testCharges(
  quotas: Readonly<Record<string, ResourceQuota['spec']>>,
): () => Promise<string[]> {
  let controlPlane: ControlPlane;
  let admin: Cluster;
  let virtController: Cluster;

  beforeAll(async () => {
    controlPlane = await freshControlPlane();
    admin = connect(controlPlane.adminKubeconfig);
    await installKubeVirt(admin);
    await installClasses(admin);
    const account = { namespace: 'kubevirt', name: 'kubevirt-controller' };
    virtController = connect(await controlPlane.kubeconfigFor(account));
  });

  afterAll(async () => {
    await controlPlane.stop();
  });

  const namespaceOf = (index: number): string => `charged-${String(index)}`;

  async function quotaNow(namespace: string): Promise<ResourceQuota> {
    return (await admin.get(RESOURCE_QUOTAS, { namespace, name: 'quota' })).object;
  }

  /** The new pod, or the API server's error message. */
  async function tryToCreate(
    namespace: string,
    shape: Parameters<typeof podOfShape>[1],
  ): Promise<Pod | string> {
    const answer = await createOrRefusal(admin, namespace, () =>
      virtController.create(PODS, podOfShape(namespace, shape)),
    );
    return isRefusal(answer) ? answer.text : answer.object;
  }

  const usedOf = ({ status }: ResourceQuota, key: string): bigint =>
    parseQuantity(status?.used?.[key] ?? '0');

  test.each(Object.entries(quotas).map(([name, spec], index) => [name, { spec, index }] as const))(
    '%s: our charge equals the API server’s, for every shape of pod (F24, F25)',
    async (_, { spec, index }) => {
      const namespace = namespaceOf(index);
      await createNamespace(admin, namespace);
      // Every namespace gets it; later it would count as a pod's charge for configmaps.
      await until(
        admin,
        { type: CONFIG_MAPS, namespace, name: 'kube-root-ca.crt' },
        (configMap) => configMap !== undefined,
      );
      await admin.create(RESOURCE_QUOTAS, { metadata: { namespace, name: 'quota' }, spec });
      await until(
        admin,
        { type: RESOURCE_QUOTAS, namespace, name: 'quota' },
        (quota) => quota?.status?.used !== undefined,
      );
      const said: Record<string, unknown> = {};
      const really: Record<string, unknown> = {};
      const [key = ''] = Object.keys(spec.hard ?? {});
      for (const [name, shape] of Object.entries(SHAPES)) {
        const before = await quotaNow(namespace);
        const created = await tryToCreate(namespace, shape);
        const after = await quotaNow(namespace);
        const wished = podOfShape(namespace, shape) as Pod;
        const missing = quotaCoversPod(before, wished) ? mustSpecify(before, wished) : undefined;
        const pod = typeof created === 'string' ? wished : created;
        const charge = quotaCoversPod(before, pod) ? (podUsage(pod).get(canonicalKey(key)) ?? 0n) : 0n;
        said[name] = missing === undefined ? charge : `failed quota: quota: must specify ${missing}`;
        really[name] =
          typeof created === 'string'
            ? created.slice(Math.max(0, created.indexOf('failed quota')))
            : usedOf(after, key) - usedOf(before, key);
      }
      expect(really).toEqual(said);
    },
  );

  return async () => {
    const names = Object.keys(quotas);
    const used = await Promise.all(names.map((_, index) => quotaNow(namespaceOf(index))));
    return names.filter((_, index) =>
      Object.values(used[index]?.status?.used ?? {}).some((text) => parseQuantity(text) > 0n),
    );
  };
}

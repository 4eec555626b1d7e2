import { describe, expect, test } from '@jest/globals';
import { aLauncher, anAttachment } from '../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../test/support/builders/namespace.ts';
import { annotated, inNamespace, labelled, named } from '../../test/support/builders/object.ts';
import { aTenant, aVm, clusterFacts, tight } from '../../test/support/builders/preflight.ts';
import { aQuota, hard, used } from '../../test/support/builders/quota.ts';
import { aClusterVmmrq, aVmmrq, giving } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION, KIND } from '../../functions/domain/names.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import { preflight } from './preflight.ts';
import { suggest, type ManifestKind, type Suggestion } from './suggest.ts';
import type { Task } from './task.ts';

const NODE: Task = { kind: 'node', nodes: ['node1'] };

/** A namespace with its label as the API server sets it. */
const labelledNamespace = (name: string): NamespaceFacts['namespace'] =>
  labelled('kubernetes.io/metadata.name', name)(named(name)(aNamespace()));

const tenant = (different: Partial<NamespaceFacts> = {}, name = 'tenant'): NamespaceFacts =>
  aTenant({ namespace: labelledNamespace(name), ...different });

const suggestedFor = (facts: ClusterFacts, task: Task, kind: ManifestKind = 'cvmmrq'): Suggestion =>
  suggest(preflight(task, facts), facts, kind);

const suggested = (different: Partial<NamespaceFacts>, task: Task = NODE): Suggestion =>
  suggestedFor(clusterFacts([tenant(different)]), task);

const amountsOf = ({ manifests }: Suggestion): unknown => manifests[0]?.spec.additionalMigrationResources;
const outcomesOf = ({ report }: Suggestion): string => report.vms.map(({ outcome }) => outcome).join(' ');

test('is a cluster-wide VMMRQ for what was asked, with amounts that a person would write', () => {
  const suggestion = suggested({ quotas: [tight(400)] });
  expect(suggestion.manifests).toEqual([
    {
      ...KIND.clusterVmmrq,
      metadata: { name: 'drain-node1' },
      spec: {
        namespaceSelector: {
          matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['tenant'] }],
        },
        purposes: ['Evacuation'],
        raisePolicy: 'Exact',
        additionalMigrationResources: { 'requests.cpu': '610m' },
      },
    },
  ]);
  expect(outcomesOf(suggestion)).toBe('Passes PassesInTurn');
});

test('adds only what is missing beside what is given already', () => {
  const suggestion = suggested({ quotas: [tight(400)], vmmrqs: [aVmmrq(giving({ cpu: '600m' }))] });
  expect(amountsOf(suggestion)).toEqual({ 'requests.cpu': '10m' });
});

test('covers a launcher and its attachment pod together', () => {
  const source = aLauncher();
  const quotas = [aQuota(hard({ 'requests.cpu': '1015m' }), used({ 'requests.cpu': '1015m' }))];
  const suggestion = suggested({ quotas, vmis: [aVm()], pods: [source, anAttachment(source)] });
  expect(amountsOf(suggestion)).toEqual({ 'requests.cpu': '1020m' });
  expect(outcomesOf(suggestion)).toBe('Passes');
});

test('is enough in whatever order VMs go that keep more than they had', () => {
  const quotas = [
    aQuota(
      hard({ 'requests.memory': String(2 * 1412828864) }),
      used({ 'requests.memory': String(2 * 1412828864) }),
    ),
  ];
  const suggestion = suggested({ quotas }, { kind: 'upgrade' });
  expect(amountsOf(suggestion)).toEqual({ 'requests.memory': '1476Mi' });
  expect(outcomesOf(suggestion)).toBe('Passes PassesInTurn');
});

describe('is nothing', () => {
  test.each<[string, Partial<NamespaceFacts>]>([
    ['where all pass', {}],
    [
      'where no VMMRQ helps',
      { quotas: [tight(0)], namespace: annotated(ANNOTATION.skip, 'true')(labelledNamespace('tenant')) },
    ],
  ])('%s', (_, different) => {
    expect(suggested(different).manifests).toEqual([]);
  });
});

test('is in each namespace where that is asked for', () => {
  const facts = clusterFacts([tenant({ quotas: [tight(0)] })]);
  const { manifests, report } = suggestedFor(facts, { kind: 'namespace', namespace: 'tenant' }, 'vmmrq');
  expect(manifests).toMatchObject([
    {
      kind: 'VirtualMachineMigrationResourceQuota',
      metadata: { name: 'preflight-tenant', namespace: 'tenant' },
      spec: { purposes: ['UserRequested'], additionalMigrationResources: { 'requests.cpu': '1010m' } },
    },
  ]);
  expect(report.vms.map(({ outcome, by }) => `${outcome} ${by.join()}`)).toEqual([
    'Passes preflight-tenant',
    'PassesInTurn preflight-tenant',
  ]);
});

test('takes a name that is free in the namespace', () => {
  const vmmrqs = [
    named('preflight-tenant')(aVmmrq()),
    inNamespace('other')(named('preflight-tenant-2')(aVmmrq())),
  ];
  const facts = clusterFacts([tenant({ quotas: [tight(0)] })], { vmmrqs });
  const { manifests } = suggestedFor(facts, { kind: 'namespace', namespace: 'tenant' }, 'vmmrq');
  expect(manifests.map(({ metadata }) => metadata.name)).toEqual(['preflight-tenant-2']);
});

test('takes a name that is free, and several selectors for more namespaces than one may name', () => {
  const namespaces = Array.from({ length: 101 }, (_, index) => {
    const name = `tenant-${String(index).padStart(3, '0')}`;
    const vmis = [inNamespace(name)(aVm('vm0'))];
    return tenant({ quotas: [tight(index)], vmis, pods: [aLauncher()] }, name);
  });
  const clusterVmmrqs = [named('drain-node1')(aClusterVmmrq())];
  const { manifests } = suggestedFor(clusterFacts(namespaces, { clusterVmmrqs }), NODE);
  expect(manifests.map(({ metadata, spec }) => [metadata.name, spec.additionalMigrationResources])).toEqual([
    ['drain-node1-2', { 'requests.cpu': '1010m' }],
    ['drain-node1-3', { 'requests.cpu': '910m' }],
  ]);
});

import { describe, expect, test } from '@jest/globals';
import { evaluate, type Expected, type ClusterFacts } from './compatibility.ts';

const EXPECTED: Expected = {
  KUBEVIRT_NAMESPACE: 'kubevirt',
  KUBEVIRT_CONTROLLER: 'kubevirt-controller',
  OLDEST_KUBERNETES: '1.30',
};
const KUBEVIRT = { name: 'kubevirt', namespace: 'kubevirt', version: 'v1.6.0' };
const OPENSHIFT = { name: 'kubevirt-kubevirt-hyperconverged', namespace: 'openshift-cnv', version: 'v1.6.0' };
const GOOD: ClusterFacts = {
  kubernetes: 'v1.34.1',
  serving: '1.19.3',
  eventing: '1.17.0',
  kubevirts: [KUBEVIRT],
  hasController: true,
};
const ELSEWHERE = 'but KubeVirt kubevirt-kubevirt-hyperconverged is in namespace openshift-cnv';

describe('evaluate', () => {
  test('finds no problem when every fact is known and compatible', () => {
    expect(evaluate(GOOD, EXPECTED)).toEqual({ problems: [], unknown: [] });
  });

  test.each<[string, ClusterFacts, string | undefined]>([
    ['the oldest Kubernetes', { kubernetes: 'v1.30.0-rc.1' }, undefined],
    [
      'a Kubernetes before the oldest',
      { kubernetes: 'v1.29.15+k3s1' },
      'Kubernetes is v1.29.15+k3s1: 1.30 is the oldest',
    ],
    ['a minor version compared as a number', { kubernetes: 'v1.9.0' }, 'Kubernetes is v1.9.0'],
    ['another major', { kubernetes: 'v2.0.0' }, undefined],
    ['an old Serving', { serving: '1.16.4' }, 'Knative Serving is 1.16.4: 1.17 is the oldest'],
    ['an old Eventing', { eventing: 'v1.2.0' }, 'Knative Eventing is v1.2.0'],
    ['an old KubeVirt', { kubevirts: [{ ...KUBEVIRT, version: 'v0.59.2' }] }, 'KubeVirt is v0.59.2: 1.0 is'],
    ['KubeVirt in another namespace', { kubevirts: [OPENSHIFT] }, ELSEWHERE],
    ['KubeVirt here, and one in another namespace', { kubevirts: [OPENSHIFT, KUBEVIRT] }, undefined],
    [
      'no service account of virt-controller',
      { hasController: false },
      'namespace kubevirt has no such service account',
    ],
  ])('%s', (_what, change, want) => {
    const { problems } = evaluate({ ...GOOD, ...change }, EXPECTED);
    expect(problems).toEqual(want === undefined ? [] : [expect.stringContaining(want)]);
  });

  test('reports each problem', () => {
    const found = { ...GOOD, kubernetes: 'v1.28.0', kubevirts: [OPENSHIFT] };
    expect(evaluate(found, EXPECTED).problems).toHaveLength(2);
  });

  test('accepts an older Kubernetes where no policies are installed', () => {
    const expected = { ...EXPECTED, OLDEST_KUBERNETES: '1.28' };
    expect(evaluate({ ...GOOD, kubernetes: 'v1.28.15' }, expected).problems).toEqual([]);
    expect(evaluate({ ...GOOD, kubernetes: 'v1.27.0' }, expected).problems).toHaveLength(1);
  });

  test.each<[string, ClusterFacts, string[]]>([
    ['nothing could be read', {}, ['Kubernetes', 'Knative Serving', 'Knative Eventing', 'KubeVirt']],
    ['no version', { ...GOOD, kubernetes: 'unknown', eventing: 'devel' }, ['Kubernetes', 'Knative Eventing']],
    ['no KubeVirt yet', { ...GOOD, kubevirts: [], hasController: false }, ['KubeVirt']],
    [
      'a KubeVirt that is being deployed',
      { ...GOOD, kubevirts: [{ name: 'kubevirt', namespace: 'kubevirt' }], hasController: false },
      ['KubeVirt'],
    ],
  ])('an unknown fact is no problem: %s', (_what, found, unknown) => {
    expect(evaluate(found, EXPECTED)).toEqual({ problems: [], unknown });
  });
});

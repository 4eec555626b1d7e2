import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, aVmi, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { aNamespace } from '../../../test/support/builders/namespace.ts';
import { annotated } from '../../../test/support/builders/object.ts';
import { KUBEVIRT } from '../names.ts';
import type { Pod, ResourceList, VirtualMachineInstance } from '../objects.ts';
import { parseQuantity } from '../quantity.ts';
import { estimate } from './estimate.ts';
import { unknownTerms } from './unknown-terms.ts';

const MI = parseQuantity('1Mi');
type Domain = NonNullable<NonNullable<VirtualMachineInstance['spec']>['domain']>;
type Memory = NonNullable<NonNullable<VirtualMachineInstance['status']>['memory']>;

/** A VM after a hotplug from 1Gi to 2Gi; KubeVirt has patched its own request, which was 512Mi, to the whole guest. */
const overcommitted = (domain: Domain = {}, memory: Memory = {}): VirtualMachineInstance => ({
  ...aVmi(),
  spec: { domain: { resources: { requests: { memory: '2Gi' } }, ...domain, memory: { guest: '2Gi' } } },
  status: { memory: { guestRequested: '1Gi', ...memory } },
});

/** The launcher from before: 512Mi, and 200Mi for what runs beside the guest. */
const source = (limits: ResourceList = {}): Pod =>
  aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1', memory: '712Mi' }, limits)] }));
const annotatedSource = (limits?: ResourceList): Pod =>
  annotated(KUBEVIRT.memoryOverhead, String(200 * 1024 ** 2))(source(limits));

/** Mebibytes that its target is charged. */
function charged(pod: Pod, vmi: VirtualMachineInstance, key = 'requests.memory'): bigint | undefined {
  const { need } = estimate({
    ...{ source: pod, vmi, namespace: aNamespace(), quotas: [], limitRanges: [], rejections: [] },
    ...{ overheadRatio: parseQuantity('1'), autoLimits: true },
  });
  const amount = need.get(key);
  return amount === undefined ? undefined : amount / MI;
}

describe('memory hotplugged to a VM that requests less than its guest has', () => {
  // The page tables of 1536Mi more are 3Mi.
  test.each<[string, Pod, VirtualMachineInstance, bigint]>([
    ['the overhead by the launcher’s annotation', annotatedSource(), overcommitted(), 2251n],
    [
      'the overhead by the VMI’s status, where the launcher has no annotation',
      source(),
      overcommitted({}, { memoryOverhead: '200Mi' }),
      2251n,
    ],
    [
      'an overhead that is not known, before KubeVirt 1.8: the whole guest at least',
      source(),
      overcommitted(),
      2050n,
    ],
    [
      'no overhead, where the VM overcommits it',
      annotatedSource(),
      overcommitted({ resources: { requests: { memory: '2Gi' }, overcommitGuestOverhead: true } }),
      2048n,
    ],
    ['without a request of its own: in addition', annotatedSource(), overcommitted({ resources: {} }), 1738n],
    [
      'a request above the guest: in addition',
      aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '2248Mi' })] })),
      overcommitted({ resources: { requests: { memory: '3Gi' } } }),
      3274n,
    ],
  ])('%s', (_, pod, vmi, want) => {
    expect(charged(pod, vmi)).toBe(want);
  });

  test('on huge pages the whole guest', () => {
    const pages = { 'hugepages-2Mi': '512Mi' };
    const pod = aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '200Mi', ...pages }, pages)] }));
    const vmi = overcommitted();
    const onPages = {
      ...vmi,
      spec: { domain: { ...vmi.spec?.domain, memory: { guest: '2Gi', hugepages: { pageSize: '2Mi' } } } },
    };
    expect(charged(pod, onPages, 'requests.hugepages-2Mi')).toBe(2048n);
  });

  test('with CPUs of its own the limit is the request', () => {
    const pinned = overcommitted({
      cpu: { dedicatedCpuPlacement: true },
      resources: { requests: { memory: '2Gi' } },
    });
    expect(charged(annotatedSource({ memory: '712Mi' }), pinned, 'limits.memory')).toBe(2251n);
  });

  test('with CPUs of its own the limit includes an overhead that is not requested', () => {
    const pinned = overcommitted({
      cpu: { dedicatedCpuPlacement: true },
      resources: { requests: { memory: '2Gi' }, overcommitGuestOverhead: true },
    });
    const pod = annotated(
      KUBEVIRT.memoryOverhead,
      String(200 * 1024 ** 2),
    )(aLauncher('vm0', podSpec({ containers: [aContainer({ memory: '512Mi' }, { memory: '712Mi' })] })));
    expect(charged(pod, pinned, 'limits.memory')).toBe(2251n);
  });

  test('without a change of the guest the launcher stays as it is', () => {
    expect(charged(annotatedSource(), overcommitted({}, { guestRequested: '2Gi' }))).toBe(712n);
  });
});

describe('an overhead that neither launcher nor VMI shows, before KubeVirt 1.8', () => {
  const of = (memory: string): Pod => aLauncher('vm0', podSpec({ containers: [aContainer({ memory })] }));
  const known = annotated(KUBEVIRT.memoryOverhead, String(200 * 1024 ** 2));
  const pages: Domain = { memory: { guest: '2Gi', hugepages: { pageSize: '2Mi' } } };
  const onPages = overcommitted();

  test.each<[string, Pod, VirtualMachineInstance, boolean]>([
    ['of a VM that requested less than its guest', of('712Mi'), overcommitted(), true],
    ['of one that requested a little less', of('1200Mi'), overcommitted(), true],
    ['of one that requested its guest: the growth is exact', of('1250Mi'), overcommitted(), false],
    ['without a hotplug', of('712Mi'), overcommitted({}, { guestRequested: '2Gi' }), false],
    ['without a request of its own', of('712Mi'), overcommitted({ resources: {} }), false],
    [
      'that the VM overcommits too',
      of('712Mi'),
      overcommitted({ resources: { requests: { memory: '2Gi' }, overcommitGuestOverhead: true } }),
      false,
    ],
    [
      'on huge pages',
      of('712Mi'),
      { ...onPages, spec: { domain: { ...onPages.spec?.domain, ...pages } } },
      false,
    ],
    ['but the launcher does', known(of('712Mi')), overcommitted(), false],
    ['but the VMI does', of('712Mi'), overcommitted({}, { memoryOverhead: '200Mi' }), false],
  ])('%s', (_, pod, vmi, isUnknown) => {
    expect(unknownTerms(vmi, pod)).toHaveLength(isUnknown ? 1 : 0);
  });
});

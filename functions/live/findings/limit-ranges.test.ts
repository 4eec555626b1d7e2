import { expect, test } from '@jest/globals';
import { aLauncher } from '../../../test/support/builders/kubevirt.ts';
import { aPlanView, aSource, aTarget, aVmView } from '../../../test/support/builders/live-plan.ts';
import { aStorageMap, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import { rawText } from '../../../test/support/raw-text.ts';
import type { LimitRange, LimitRangeItem, Pod } from '../../domain/objects.ts';
import type { Finding } from '../../domain/live/conditions.ts';
import { planFindings } from './plan.ts';

const range = (...limits: LimitRangeItem[]): LimitRange => ({
  metadata: metadata('core-resource-limits'),
  spec: { limits },
});
const CLAIMS = (min: string, max: string): LimitRangeItem => ({
  type: 'PersistentVolumeClaim',
  min: { storage: min },
  max: { storage: max },
});
const PODS: LimitRangeItem = { type: 'Pod', max: { memory: '1Gi' } };

/** The VMI with a limit of its own, which its launcher keeps on the target. */
const withLimit = itsVmi((vmi) => ({
  ...vmi,
  spec: { ...vmi.spec, domain: { ...vmi.spec.domain, resources: { limits: { memory: '1800Mi' } } } },
}));

/** A VM with a disk of 10Gi, and a launcher of 1,412,828,864 bytes. */
const found = (limitRanges: readonly LimitRange[], pods: readonly Pod[] = [aLauncher()]): Finding[] =>
  planFindings(
    aPlanView({
      sourceCluster: aSource({ vms: [aVmView({ vmi: withLimit })] }),
      targetCluster: aTarget({ limitRanges }),
      storage: aStorageMap((map) => ({
        ...map,
        spec: {
          ...map.spec,
          map: [{ source: { name: 'fast' }, destination: { storageClass: 'gold', volumeMode: 'Block' } }],
        },
      })),
      pods: new Map([[RUN.vm, pods]]),
    }),
  ).filter(({ type }) => type !== 'Ready');

const limited = aLauncher('vm0', (pod) => ({
  ...pod,
  spec: {
    ...pod.spec,
    containers: [
      { name: 'compute', resources: { requests: { memory: '1412828864' }, limits: { memory: '2Gi' } } },
    ],
  },
}));

const SMALL = 'maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 10Gi';

test.each<[what: string, LimitRange[], string[]]>([
  ['the disks', [range(CLAIMS('1Gi', '2Gi'))], [`vms/web: LimitRange core-resource-limits: ${SMALL}`]],
  [
    'disks that are too small',
    [range(CLAIMS('20Gi', '30Gi'))],
    [
      'vms/web: LimitRange core-resource-limits: minimum storage usage per PersistentVolumeClaim is 20Gi, but request is 10Gi',
    ],
  ],
  [
    'the disks and the launcher',
    [range(CLAIMS('1Gi', '2Gi'), PODS)],
    [
      `vms/web: LimitRange core-resource-limits: ${SMALL}; maximum memory usage per Pod is 1Gi, but limit is 2Gi`,
    ],
  ],
  [
    'the pod with which CDI fills the disk',
    [range({ type: 'Container', min: { memory: '100M' } })],
    [
      'vms/web: LimitRange core-resource-limits: for the pod with which CDI fills its volumes, by its default size: minimum memory usage per ' +
        'Container is 100M, but request is 57.3Mi',
    ],
  ],
  ['nothing', [range(CLAIMS('1Gi', '10Gi'), { type: 'Pod', max: { memory: '2Gi' } })], []],
  ['nothing, without a LimitRange', [], []],
])('a LimitRange of the target refuses %s', (_, limitRanges, want) => {
  const findings = found(limitRanges, [limited]);
  expect(findings.flatMap(({ items = [] }) => items.map(rawText))).toEqual(want);
  expect(findings.map(({ type, category }) => [type, category])).toEqual(
    want.map(() => ['LimitRangeRefuses', 'Warn']),
  );
});

test('its defaults count', () => {
  const defaults: LimitRangeItem = { type: 'Container', default: { memory: '3Gi' }, max: { memory: '2Gi' } };
  expect(found([range(defaults)]).flatMap(({ items = [] }) => items.map(rawText))).toEqual([
    'vms/web: LimitRange core-resource-limits: maximum memory usage per Container is 2Gi, but limit is 3Gi',
  ]);
});

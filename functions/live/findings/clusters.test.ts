import { describe, expect, test } from '@jest/globals';
import { aKubeVirt, aPlanView, aSource, aTarget } from '../../../test/support/builders/live-plan.ts';
import type { KubeVirt } from '../../domain/objects.ts';
import { clusterFindings } from './clusters.ts';
import { rawText } from '../../../test/support/raw-text.ts';

const GATE = 'DecentralizedLiveMigration';

/** "NoAddress Warn source" */
const summary = (source: KubeVirt | undefined, target: KubeVirt | undefined): string[] =>
  clusterFindings(
    aPlanView({
      sourceCluster: aSource({ kubevirt: source }),
      targetCluster: aTarget({ kubevirt: target }),
    }),
  ).map(({ type, category, items = [] }) => [type, category, ...items].map(rawText).join(' '));

describe('the feature gate', () => {
  const disabled = {
    ...aKubeVirt('v1.10.0'),
    spec: { configuration: { developerConfiguration: { disabledFeatureGates: [GATE] } } },
  };

  test.each<[string, KubeVirt | undefined, boolean]>([
    ['is on where it is listed', aKubeVirt('v1.6.0', GATE), true],
    ['is unknown before 1.6', aKubeVirt('v1.5.2', GATE), false],
    ['is on where it is listed, while KubeVirt is being installed', aKubeVirt('', GATE), true],
    ['is off before 1.10', aKubeVirt('v1.9.3'), false],
    ['is on from 1.10 on', aKubeVirt('v1.10.0'), true],
    ['is on in 2.0', aKubeVirt('v2.0.0'), true],
    ['is off where it is disabled', disabled, false],
    ['is off in a KubeVirt that is being installed', aKubeVirt(''), false],
    ['is off without KubeVirt', undefined, false],
  ])('%s', (_what, kubevirt, isOn) => {
    const missing = ['MigrationTypeNotValid Critical', 'MigrationTypeNotValid Critical'];
    expect(summary(kubevirt, kubevirt)).toEqual(isOn ? [] : missing);
  });
});

const withAddresses = (...synchronizationAddresses: string[]): KubeVirt => {
  const { status, ...kubevirt } = aKubeVirt('v1.9.0', GATE);
  return { ...kubevirt, status: { ...status, synchronizationAddresses } };
};

test.each<[string, KubeVirt | undefined, KubeVirt | undefined, string[]]>([
  ['of both', withAddresses('10.0.0.1:9185'), withAddresses('10.0.0.2:9185'), []],
  ['of none', withAddresses(), withAddresses(), ['NoAddress Warn source target']],
  ['of the source', withAddresses('10.0.0.1:9185'), withAddresses(), ['NoAddress Warn target']],
  [
    'of a KubeVirt that has no such controller',
    { ...withAddresses(), spec: {} },
    withAddresses('10.0.0.2:9185'),
    ['MigrationTypeNotValid Critical'],
  ],
])('addresses of the synchronization controllers: %s', (_what, ...[source, target, wanted]) => {
  expect(summary(source, target)).toEqual(wanted);
});

test.each<[string, string, string[]]>([
  ['v1.9.0', 'v1.9.3', []],
  ['v1.9.3', 'v1.9.0', []],
  ['v1.9.0', 'v1.10.0', []],
  ['v1.10.0', 'v1.9.0', ['VersionsDiffer Warn']],
  ['v2.0.0', 'v1.10.0', ['VersionsDiffer Warn']],
  ['v1.9.0', '', []],
])('from KubeVirt %s to %s', (source, target, wanted) => {
  expect(summary(aKubeVirt(source, GATE), aKubeVirt(target, GATE))).toEqual(wanted);
});

import { expect, test } from '@jest/globals';
import { metadata } from '../../../test/support/builders/object.ts';
import { hasAutoLimits } from './auto-limits.ts';

test.each<[string | undefined, string[], boolean]>([
  ['v1.9.0', [], true],
  ['v1.5.0-rc.1', [], true],
  ['2.0.0', [], true],
  ['v1.4.3', [], false],
  ['v1.4.3', ['AutoResourceLimitsGate'], true],
  ['v0.59.0', ['Other'], false],
  ['devel', [], true],
  [undefined, [], true],
])('KubeVirt %s with %j: limits by itself %s', (version, featureGates, want) => {
  const status = version === undefined ? {} : { observedKubeVirtVersion: version };
  const spec = { configuration: { developerConfiguration: { featureGates } } };
  expect(hasAutoLimits({ metadata: metadata('kubevirt'), spec, status })).toBe(want);
});

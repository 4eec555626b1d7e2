import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, anInit, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { aQuota, scoped } from '../../../test/support/builders/quota.ts';
import type { Pod, PodAffinity, PodAffinityTerm, ResourceQuota, ScopeSelectorTerm } from '../objects.ts';
import { quotaCoversPod } from './scopes.ts';

const required = (term: PodAffinityTerm): PodAffinity => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{}, term],
});
const preferred = (podAffinityTerm: PodAffinityTerm): PodAffinity => ({
  preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm }],
});

const POD = {
  plain: aLauncher(),
  withDeadline: aLauncher('vm0', podSpec({ activeDeadlineSeconds: 0 })),
  bestEffort: aLauncher('vm0', podSpec({ containers: [aContainer({ 'ephemeral-storage': '1', cpu: '0' })] })),
  onlyAnInit: aLauncher(
    'vm0',
    podSpec({ containers: [{ name: 'c' }], initContainers: [anInit({ cpu: '1' })] }),
  ),
  asAWhole: aLauncher(
    'vm0',
    podSpec({ containers: [{ name: 'c' }], resources: { limits: { memory: '1' } } }),
  ),
  affinityToOthers: aLauncher(
    'vm0',
    podSpec({ affinity: { podAffinity: required({ namespaceSelector: {} }) } }),
  ),
  antiAffinityToOthers: aLauncher(
    'vm0',
    podSpec({ affinity: { podAntiAffinity: preferred({ namespaces: ['there'] }) } }),
  ),
  antiAffinityToOwn: aLauncher('vm0', podSpec({ affinity: { podAntiAffinity: required({}) } })),
  high: aLauncher('vm0', podSpec({ priorityClassName: 'high' })),
  unknownYet: aLauncher('vm0', ({ status: _, ...pod }) => pod),
} satisfies Record<string, Pod>;

const byClass = (operator: ScopeSelectorTerm['operator'], ...values: string[]): ResourceQuota['spec'] => ({
  scopeSelector: {
    matchExpressions: [{ scopeName: 'PriorityClass', operator, ...(values.length === 0 ? {} : { values }) }],
  },
});

const ACROSS: ResourceQuota['spec'] = { scopes: ['CrossNamespacePodAffinity'] };

describe('quotaCoversPod (F24)', () => {
  test.each<[string, [ResourceQuota['spec'], Pod], boolean]>([
    ['no scope at all', [{}, POD.plain], true],
    ['empty scopes', [{ scopes: [], scopeSelector: {} }, POD.plain], true],
    ['Terminating', [{ scopes: ['Terminating'] }, POD.plain], false],
    ['Terminating, a pod with a deadline', [{ scopes: ['Terminating'] }, POD.withDeadline], true],
    ['NotTerminating', [{ scopes: ['NotTerminating'] }, POD.plain], true],
    ['NotTerminating, a pod with a deadline', [{ scopes: ['NotTerminating'] }, POD.withDeadline], false],
    ['BestEffort', [{ scopes: ['BestEffort'] }, POD.plain], false],
    ['BestEffort, such a pod', [{ scopes: ['BestEffort'] }, POD.bestEffort], true],
    ['NotBestEffort', [{ scopes: ['NotBestEffort'] }, POD.plain], true],
    ['NotBestEffort, a best effort pod', [{ scopes: ['NotBestEffort'] }, POD.bestEffort], false],
    ['NotBestEffort, a pod without a status', [{ scopes: ['NotBestEffort'] }, POD.unknownYet], true],
    ['BestEffort, an init container asks', [{ scopes: ['BestEffort'] }, POD.onlyAnInit], false],
    ['BestEffort, the pod asks as a whole', [{ scopes: ['BestEffort'] }, POD.asAWhole], false],
    ['CrossNamespacePodAffinity', [ACROSS, POD.plain], false],
    ['CrossNamespacePodAffinity, its own namespace', [ACROSS, POD.antiAffinityToOwn], false],
    ['CrossNamespacePodAffinity, all namespaces', [ACROSS, POD.affinityToOthers], true],
    ['CrossNamespacePodAffinity, one of them, preferred', [ACROSS, POD.antiAffinityToOthers], true],
    ['a scope of volume claims', [{ scopes: ['VolumeAttributesClass'] }, POD.plain], false],
    ['PriorityClass as a scope', [{ scopes: ['PriorityClass'] }, POD.high], true],
    ['PriorityClass as a scope, none', [{ scopes: ['PriorityClass'] }, POD.plain], false],
    ['class exists', [byClass('Exists'), POD.high], true],
    ['class exists, none', [byClass('Exists'), POD.plain], false],
    ['no class', [byClass('DoesNotExist'), POD.plain], true],
    ['no class, one', [byClass('DoesNotExist'), POD.high], false],
    ['class in', [byClass('In', 'low', 'high'), POD.high], true],
    ['class in, another', [byClass('In', 'low'), POD.high], false],
    ['class in nothing', [byClass('In'), POD.high], false],
    ['class not in', [byClass('NotIn', 'low'), POD.high], true],
    ['class not in, the one', [byClass('NotIn', 'high'), POD.high], false],
    ['all must match', [{ scopes: ['NotBestEffort', 'Terminating'] }, POD.plain], false],
    ['selector and scopes', [{ scopes: ['NotBestEffort'], ...byClass('In', 'high') }, POD.high], true],
    ['selector against scopes', [{ scopes: ['BestEffort'], ...byClass('In', 'high') }, POD.high], false],
    ['an unknown scope is considered', [{ scopes: ['Tomorrow'] }, POD.plain], true],
  ])('%s', (_, [spec, pod], want) => {
    expect(quotaCoversPod(aQuota(scoped(spec)), pod)).toBe(want);
  });
});

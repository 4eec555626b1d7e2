import { expect, test } from '@jest/globals';
import { aVm } from '../../../test/support/builders/live.ts';
import { annotated, labelled, type MetaChange } from '../../../test/support/builders/object.ts';
import { gitOpsMarks } from './gitops.ts';

const TRACKED = 'shop:kubevirt.io/VirtualMachine:vms/web';

test.each<[string, MetaChange[], string[]]>([
  [
    'Argo CD, by its annotation',
    [annotated('argocd.argoproj.io/tracking-id', TRACKED)],
    [`annotation argocd.argoproj.io/tracking-id=${TRACKED}`],
  ],
  [
    'Argo CD, by its own label',
    [labelled('argocd.argoproj.io/instance', 'shop')],
    ['label argocd.argoproj.io/instance=shop'],
  ],
  [
    'a Kustomization of Flux',
    [
      labelled('kustomize.toolkit.fluxcd.io/name', 'shop'),
      labelled('kustomize.toolkit.fluxcd.io/namespace', 'flux-system'),
    ],
    ['label kustomize.toolkit.fluxcd.io/name=shop'],
  ],
  [
    'a HelmRelease of Flux',
    [labelled('helm.toolkit.fluxcd.io/name', 'shop')],
    ['label helm.toolkit.fluxcd.io/name=shop'],
  ],
  ['nobody: charts set this label too', [labelled('app.kubernetes.io/instance', 'shop')], []],
  ['nobody: an annotation is no label', [annotated('argocd.argoproj.io/instance', 'shop')], []],
  ['nobody', [], []],
])('a VM that is owned by %s', (_whom, changes, wanted) => {
  expect(gitOpsMarks(aVm(...changes))).toEqual(wanted);
});

import type { KubernetesObject } from '../objects.ts';

/**
 * What GitOps tools write on the objects that they apply: Argo CD, then Flux. `app.kubernetes.io/instance` is none of them: Helm charts
 * and users set it too.
 */
const MARKS: readonly (readonly [where: 'annotation' | 'label', key: string])[] = [
  ['annotation', 'argocd.argoproj.io/tracking-id'],
  ['label', 'argocd.argoproj.io/instance'],
  ['label', 'kustomize.toolkit.fluxcd.io/name'],
  ['label', 'helm.toolkit.fluxcd.io/name'],
];

/** By which of them a tool owns the object, in words. */
export const gitOpsMarks = ({ metadata }: KubernetesObject): string[] =>
  MARKS.flatMap(([where, key]) => {
    const value = metadata[`${where}s`]?.[key];
    return value === undefined ? [] : [`${where} ${key}=${value}`];
  });

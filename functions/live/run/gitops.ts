import type { KubernetesObject } from '../../domain/objects.ts';

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

const keysOn = (what: 'annotation' | 'label'): string[] =>
  MARKS.flatMap(([where, key]) => (where === what ? [key] : []));

/** A copy on the target has none of them: a tool there with an application of that name would delete what it does not know. */
export const GITOPS = { annotations: keysOn('annotation'), labels: keysOn('label') } as const;

/** By which of them a tool owns the object, in words. */
export const gitOpsMarks = ({ metadata }: KubernetesObject): string[] =>
  MARKS.flatMap(([where, key]) => {
    const value = metadata[`${where}s`]?.[key];
    return value === undefined ? [] : [`${where} ${key}=${value}`];
  });

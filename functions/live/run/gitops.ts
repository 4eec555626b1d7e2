import type { KubernetesObject } from '../../domain/objects.ts';

/**
 * Marks that GitOps tools write on the objects that they apply: Argo CD, then Flux. `app.kubernetes.io/instance` is none of them: Helm
 * charts and users set it too.
 */
const MARKS: readonly (readonly [where: 'annotation' | 'label', key: string])[] = [
  ['annotation', 'argocd.argoproj.io/tracking-id'],
  ['label', 'argocd.argoproj.io/instance'],
  ['label', 'kustomize.toolkit.fluxcd.io/name'],
  ['label', 'helm.toolkit.fluxcd.io/name'],
];

const keysOn = (what: 'annotation' | 'label'): string[] =>
  MARKS.flatMap(([where, key]) => (where === what ? [key] : []));

/**
 * The keys of these marks. A copy on the target has none: a tool there with an application of that name would delete objects that it does
 * not know.
 */
export const GITOPS = { annotations: keysOn('annotation'), labels: keysOn('label') } as const;

/** Returns the marks by which a tool owns the object, in words. */
export const gitOpsMarks = ({ metadata }: KubernetesObject): string[] =>
  MARKS.flatMap(([where, key]) => {
    const value = metadata[`${where}s`]?.[key];
    return value === undefined ? [] : [`${where} ${key}=${value}`];
  });

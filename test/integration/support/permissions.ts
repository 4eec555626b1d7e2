import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Audited } from './audit.ts';
import type { PolicyRule, Role, RoleBinding } from './roles.ts';

/** The rules that the manifests give this service account, by its (Cluster)RoleBindings. */
export function rulesOf(objects: readonly KubernetesObject[], account: string): PolicyRule[] {
  const bindings = objects.filter(({ kind }) => kind?.endsWith('RoleBinding')) as RoleBinding[];
  const roles = objects.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role') as Role[];
  const bound = bindings.filter(({ subjects }) =>
    subjects.some(({ name, namespace }) => name === account && namespace === SYSTEM_NAMESPACE),
  );
  return bound.flatMap(({ roleRef }) =>
    roles
      .filter(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name)
      .flatMap(({ rules }) => rules),
  );
}

/** Whether one of the rules allows the request, as RBAC reads them (k8s.io/component-helpers VerbMatches and others). */
export function isAllowed(rules: readonly PolicyRule[], { verb, objectRef }: Audited): boolean {
  const { resource = '', subresource, apiGroup = '', name = '' } = objectRef ?? {};
  const wanted = subresource === undefined ? resource : `${resource}/${subresource}`;
  return rules.some(
    ({ apiGroups = [], resources = [], verbs, resourceNames }) =>
      apiGroups.includes(apiGroup) &&
      resources.includes(wanted) &&
      verbs.includes(verb) &&
      (resourceNames === undefined || resourceNames.includes(name)),
  );
}

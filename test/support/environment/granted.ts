import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Audited } from './audit.ts';
import type { PolicyRule, Role, RoleBinding } from './roles.ts';

/** A rule and its namespace; undefined: all namespaces. */
interface Grant {
  readonly rule: PolicyRule;
  readonly namespace: string | undefined;
}

/** The rights of one service account by the bindings in the rendered manifests only. */
export function grantsOf(objects: readonly KubernetesObject[], account: string): Grant[] {
  const isBinding = ({ kind }: KubernetesObject): boolean =>
    kind === 'ClusterRoleBinding' || kind === 'RoleBinding';
  const bindings = objects.filter(isBinding) as RoleBinding[];
  return bindings
    .filter(({ subjects }) => subjects.some((subject) => isAccount(subject, account)))
    .flatMap(({ kind, metadata, roleRef }) => {
      const namespace = kind === 'RoleBinding' ? metadata.namespace : undefined;
      const roles = objects.filter(
        (each) =>
          each.kind === roleRef.kind &&
          each.metadata.name === roleRef.name &&
          (each.kind === 'ClusterRole' || each.metadata.namespace === namespace),
      );
      return (roles as Role[]).flatMap(({ rules }) => rules.map((rule) => ({ rule, namespace })));
    });
}

const isAccount = (subject: RoleBinding['subjects'][number], account: string): boolean =>
  subject.kind === 'ServiceAccount' && subject.name === account && subject.namespace === SYSTEM_NAMESPACE;

/** Decides like RBAC; a non-resource request never matches. */
export function isGranted(
  grants: readonly Grant[],
  { verb, objectRef }: Pick<Audited, 'verb' | 'objectRef'>,
): boolean {
  if (objectRef === undefined) return false;
  const { resource, subresource, apiGroup = '', name = '', namespace } = objectRef;
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  return grants.some(({ rule, namespace: only }) =>
    [
      only === undefined || only === namespace,
      rule.apiGroups?.includes(apiGroup),
      rule.resources?.includes(full),
      rule.verbs.includes(verb),
      rule.resourceNames === undefined || rule.resourceNames.includes(name),
    ].every((holds) => holds === true),
  );
}

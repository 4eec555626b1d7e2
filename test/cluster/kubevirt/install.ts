import { readdir, readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { untilServed } from '../served.ts';
import { FULL_KUBEVIRTS, FULL_MIGRATIONS, FULL_VMIS, VMS } from './objects/objects.ts';
import { RELEASE, type Release } from './objects/release.ts';

const CRDS = new URL('crds/', import.meta.url);
const ROLES = new URL('rbac.yaml', import.meta.url);

const clusterScoped = (apiVersion: string, kind: string, plural: string): ResourceType => ({
  apiVersion,
  kind,
  plural,
  namespaced: false,
});

const TYPES: readonly ResourceType[] = [
  clusterScoped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  clusterScoped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles'),
  clusterScoped('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings'),
  ...[
    ['Role', 'roles'],
    ['RoleBinding', 'rolebindings'],
  ].map(([kind = '', plural = '']) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    plural,
    namespaced: true,
  })),
  clusterScoped('v1', 'Namespace', 'namespaces'),
  { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
];

/**
 * Installs the stand-in's CRDs, its namespace, service account and role, as an administrator. May be called again.
 * Resolves when the CRDs are served.
 */
export async function installKubeVirt(cluster: Cluster, release: Release = RELEASE): Promise<void> {
  const crds = (await readdir(CRDS)).map((file) => new URL(file, CRDS));
  for (const file of [...crds, ROLES]) {
    for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
      const object = document.toJS() as KubernetesObject;
      if (!release.hasPriority) removePriority(object);
      await apply(cluster, object);
    }
  }
  for (const type of [VMS, FULL_VMIS, FULL_MIGRATIONS, FULL_KUBEVIRTS]) await untilServed(cluster, type);
}

interface Definition extends KubernetesObject {
  spec?: {
    versions?: { schema: { openAPIV3Schema: { properties: { spec: SpecSchema } } } }[];
  };
}

interface SpecSchema {
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  properties?: Record<string, unknown>;
}

/** Before 1.7 the API server drops a migration's spec.priority, which the CRD does not know. */
function removePriority({ metadata, spec }: Definition): void {
  if (metadata.name !== `${FULL_MIGRATIONS.plural}.kubevirt.io`) return;
  for (const { schema } of spec?.versions ?? []) {
    const { properties } = schema.openAPIV3Schema;
    const between = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    properties.spec = {
      ...{ type: 'object' },
      properties: { vmiName: { type: 'string' }, sendTo: between, receive: between },
    };
  }
}

async function apply(cluster: Cluster, object: KubernetesObject): Promise<void> {
  const type = TYPES.find(({ kind }) => kind === object.kind);
  if (type === undefined) throw new Error(`no ${object.kind ?? 'object without kind'} is expected here`);
  try {
    await cluster.create(type, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await cluster.patch(type, object.metadata, { merge: { ...object } });
  }
}

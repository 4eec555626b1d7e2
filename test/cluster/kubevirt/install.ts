import { readdir, readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import { untilServed } from '../served.ts';
import { FULL_KUBEVIRTS, FULL_MIGRATIONS, FULL_VMIS } from './objects.ts';

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
  clusterScoped('v1', 'Namespace', 'namespaces'),
  { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
];

/**
 * Installs the stand-in's CRDs, its namespace, service account and role, as an administrator. May be called again.
 * Resolves when the CRDs are served.
 */
export async function installKubeVirt(cluster: Cluster): Promise<void> {
  const crds = (await readdir(CRDS)).map((file) => new URL(file, CRDS));
  for (const file of [...crds, ROLES]) {
    for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
      await apply(cluster, document.toJS() as KubernetesObject);
    }
  }
  for (const type of [FULL_VMIS, FULL_MIGRATIONS, FULL_KUBEVIRTS]) await untilServed(cluster, type);
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

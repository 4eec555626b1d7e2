import {
  MIGRATIONS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../../functions/kubernetes/resources.ts';
import {
  create,
  metadata,
  patch,
  pauseController,
  read,
  readQuota,
  remove,
  replace,
  type Body,
} from '../steps.ts';
import { histories, QUOTA, status, bothParts, vmmrq, migration } from './history.ts';

const amount =
  (cpu: string) =>
  (object: Body): Body => ({ ...object, spec: { additionalMigrationResources: { 'requests.cpu': cpu } } });

export const statuses = histories('status', {
  'a PUT of a quota does not write its status': [
    QUOTA,
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { change: bothParts }),
  ],
  'a PUT of a quota’s status does not write its spec, but its metadata': [
    QUOTA,
    pauseController,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { subresource: 'status', change: bothParts }),
  ],
  'a PUT of a status of an older version is a Conflict': [
    QUOTA,
    replace(RESOURCE_QUOTAS, 'quota', { subresource: 'status', change: bothParts }),
  ],
  'a PUT of a status that changes nothing keeps the version': [
    QUOTA,
    readQuota('quota', 'read'),
    replace(RESOURCE_QUOTAS, 'read', { subresource: 'status' }),
  ],
  'a VMMRQ’s status is written by its subresource alone, which writes nothing else': [
    create(VMMRQS, vmmrq('more', '1', { status: { creationTime: null } }), { keep: 'vmmrq' }),
    replace(VMMRQS, 'vmmrq', {
      change: (object) => status({ originalBlockingResourceQuotas: [] })(amount('2')(object)),
      keep: 'changed',
    }),
    replace(VMMRQS, 'changed', {
      subresource: 'status',
      change: (object) =>
        status({ originalBlockingResourceQuotas: [] })(amount('3')(metadata({ labels: { a: 'b' } })(object))),
      keep: 'reported',
    }),
    replace(VMMRQS, 'reported', { change: metadata({ labels: { a: 'b' } }) }),
    replace(VMMRQS, 'reported', { subresource: 'status', change: status({}) }),
  ],
  'a custom resource counts generations of its spec, and of its deletion': [
    create(MIGRATIONS, migration('mig0'), { keep: 'migration' }),
    patch(MIGRATIONS, 'mig0', { merge: { metadata: { annotations: { a: '1' } } } }),
    patch(MIGRATIONS, 'mig0', { subresource: 'status', merge: { status: { phase: 'Pending' } } }),
    patch(MIGRATIONS, 'mig0', { merge: { spec: { priority: 'high' } } }),
    remove(MIGRATIONS, 'mig0'),
    read(MIGRATIONS, 'mig0'),
  ],
  'a namespace keeps its name as a label, its finalizers and its phase': [
    read(NAMESPACES, '', { keep: 'namespace' }),
    replace(NAMESPACES, 'namespace', {
      change: (object) => ({
        ...metadata({ labels: { own: 'x' } })(object),
        spec: {},
        status: { phase: 'Terminating' },
      }),
      keep: 'labelled',
    }),
    replace(NAMESPACES, 'labelled', { subresource: 'status', change: metadata({ annotations: { a: '1' } }) }),
  ],
});

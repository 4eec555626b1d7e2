import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { lockOf } from '../../../functions/domain/lock.ts';
import { ANNOTATION, LABEL } from '../../../functions/domain/names.ts';
import type {
  KubernetesEvent,
  KubernetesObject,
  Migration,
  Namespace,
  Pod,
  ResourceQuota,
  Vmmrq,
} from '../../../functions/domain/objects.ts';
import type { Change } from '../model/store.ts';
import { TENANT } from './objects.ts';
import { rawText } from '../../support/raw-text.ts';

/** One readable line about a change of the store. */
export function changeText({ type, kind, object, revision }: Change): string {
  const { namespace, name } = object.metadata;
  const what = type === 'DELETED' ? 'gone' : contentOf(kind, object);
  const of = namespace === undefined || namespace === TENANT ? name : `${namespace}/${name}`;
  return `@${String(revision)} ${kind} ${of}: ${what}`;
}

function contentOf(kind: string, object: KubernetesObject): string {
  switch (kind) {
    case 'Namespace':
      return namespaceText(object);
    case 'ResourceQuota':
      return quotaText(object as ResourceQuota);
    case 'VirtualMachineMigrationResourceQuota':
    case 'ClusterVirtualMachineMigrationResourceQuota':
      return allowanceText((object as Vmmrq).spec);
    case 'VirtualMachineInstanceMigration':
      return migrationText(object as Migration);
    case 'Pod':
      return podText(object as Pod);
    case 'Event':
      return eventText(object as KubernetesEvent);
    default:
      return 'written';
  }
}

const eventText = ({ involvedObject, reason, message }: KubernetesEvent): string =>
  `of ${involvedObject.name ?? ''}: ${rawText(reason)}: ${rawText(message)}`;

const podText = ({ spec, status }: Pod): string =>
  `${status?.phase ?? ''} ${listText(spec.containers[0]?.resources?.requests)}`;

function namespaceText(namespace: Namespace): string {
  const state = lockOf(namespace);
  const label = namespace.metadata.labels?.[LABEL.locked] === undefined ? '' : ', labelled';
  if (state.kind !== 'held') return `lock ${state.kind}${label}`;
  const { token, migrations, quotas, expiresAt, ended } = state.lock;
  const about = [...migrations, ...quotas].map(({ name }) => name).join(', ');
  return `locked by ${token} for ${about} until ${expiresAt}${ended === undefined ? '' : `, ended: ${ended.reason}`}${label}`;
}

function quotaText(quota: ResourceQuota): string {
  const state = grantOf(quota);
  const grant =
    state.kind === 'held'
      ? `, grant of ${state.grant.token}`
      : state.kind === 'none'
        ? ''
        : ', unreadable grant';
  const fenced = quota.metadata.annotations?.[ANNOTATION.lastRelease];
  const fence = fenced === undefined ? '' : `, released by ${fenced}`;
  const { spec, status } = quota;
  return `spec ${listText(spec.hard)}; enforced ${listText(status?.hard)}; used ${listText(status?.used)}${grant}${fence}`;
}

function migrationText({ status, metadata }: Migration): string {
  const conditions = (status?.conditions ?? []).map(({ type }) => type).join();
  const deleted = metadata.deletionTimestamp === undefined ? '' : ', being deleted';
  return `${status?.phase ?? 'new'} ${conditions}${deleted}`;
}

const allowanceText = (spec: Vmmrq['spec']): string => {
  const { additionalMigrationResources, additionalMigrationPercentage: share, raisePolicy } = spec;
  const parts = [listText(additionalMigrationResources), share ?? '', raisePolicy ?? ''];
  return `gives ${parts.filter((part) => part !== '').join(', ')}`;
};

const listText = (list: Readonly<Record<string, unknown>> | undefined): string =>
  Object.entries(list ?? {})
    .map(([key, amount]) => `${key.replace('requests.', '')}=${String(amount)}`)
    .join(' ');

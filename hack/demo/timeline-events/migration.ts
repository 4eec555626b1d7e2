import { isRejectedByQuota } from '../../../functions/domain/migration.ts';
import { ANNOTATION, KUBEVIRT } from '../../../functions/domain/names.ts';
import type { LauncherPod, Vmim } from '../../../test/cluster/kubevirt/objects/types.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

/** Reports a migration that is requested, refused, cancelled, nudged or ended. */
export function ofMigration({ before, after }: Versions<Vmim>): EventDetails[] {
  if (after === undefined) {
    return [{ what: 'gone', text: `${before?.metadata.name ?? ''} is gone`, by: 'KubeVirt', isDetail: true }];
  }
  if (before === undefined) return [asked(after)];
  return RULES.flatMap((rule) => rule(before, after));
}

/** Reports the request for a migration, by a person, or by KubeVirt for a drain or an upgrade. */
function asked({ metadata: { name, annotations = {} }, spec: { vmiName = '' } }: Vmim): EventDetails {
  const node = annotations[KUBEVIRT.evacuation];
  if (node !== undefined)
    return { what: 'asked', text: `evacuates ${vmiName} from ${node} (${name})`, by: 'KubeVirt' };
  return annotations[KUBEVIRT.workloadUpdate] === undefined
    ? { what: 'asked', text: `asks for a live migration of ${vmiName} (${name})`, by: 'tenant' }
    : { what: 'asked', text: `moves ${vmiName} to a new launcher (${name})`, by: 'KubeVirt' };
}

type Rule = (before: Vmim, after: Vmim) => EventDetails[];

const refused: Rule = (before, after) =>
  isRejectedByQuota(before) || !isRejectedByQuota(after)
    ? []
    : [{ what: 'blocked', text: `a quota refuses the target pod of ${after.metadata.name}`, by: 'KubeVirt' }];

const cancelled: Rule = (before, after) =>
  before.metadata.deletionTimestamp !== undefined || after.metadata.deletionTimestamp === undefined
    ? []
    : [{ what: 'cancelled', text: `cancels ${after.metadata.name} (deletes it)`, by: 'tenant' }];

/** `lower` writes a lock's token, `feasibility` the headroom. (Both use PATCH, so the audit log has no replaced version.) */
const nudged: Rule = (before, { metadata: { name, annotations } }) => {
  const value = annotations?.[ANNOTATION.nudged];
  if (value === undefined || before.metadata.annotations?.[ANNOTATION.nudged] === value) return [];
  const by = value.startsWith('headroom ') ? 'feasibility' : 'lower';
  return [{ what: 'nudged', text: `asks KubeVirt to look at ${name} again`, by }];
};

const ended: Rule = (before, { metadata: { name }, status }) => {
  if (status?.phase === before.status?.phase) return [];
  if (status?.phase === 'Succeeded') {
    return [{ what: 'succeeded', text: `${name} has Succeeded`, by: 'KubeVirt' }];
  }
  return status?.phase === 'Failed'
    ? [{ what: 'failed', text: `${name} ends as Failed`, by: 'KubeVirt' }]
    : [];
};

const RULES: readonly Rule[] = [refused, cancelled, nudged, ended];

/** Reports the second launcher pod of a migration. */
export function ofPod({ before, after }: Versions<LauncherPod>): EventDetails[] {
  const { name = '', labels = {} } = after?.metadata ?? {};
  const isTarget = labels[KUBEVIRT.migrationJobUID] !== undefined;
  if (before !== undefined || !isTarget || labels[KUBEVIRT.launcherLabel] !== KUBEVIRT.launcher) return [];
  return [{ what: 'admitted', text: `target pod ${name} is admitted`, by: 'KubeVirt' }];
}

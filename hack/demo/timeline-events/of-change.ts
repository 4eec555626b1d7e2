import type { Change } from '../watching.ts';
import type { EventDetails, TimelineEvent } from './timeline-event.ts';
import { ofKubeVirt } from './kubevirt.ts';
import { ofMigration, ofPod } from './migration.ts';
import { ofNamespace } from './namespace.ts';
import { ofProgress } from './progress.ts';
import { ofQuota } from './quota.ts';
import { ofEvent, ofVmmrq } from './reports.ts';

/** Converts a change of an object to timeline events. Pure. */
export function timelineEventsOf(change: Change): TimelineEvent[] {
  const { at, version } = change;
  return found(change).map((one) => ({ at, version, namespace: namespaceOf(change), ...one }));
}

function namespaceOf({ kind, before, after }: Change): string {
  const { name = '', namespace = '' } = (after ?? before)?.metadata ?? {};
  // KubeVirt's own object is about the whole cluster.
  if (kind === 'KubeVirt') return '';
  return kind === 'Namespace' ? name : namespace;
}

function found(change: Change): EventDetails[] {
  switch (change.kind) {
    case 'Namespace':
      return ofNamespace(change);
    case 'ResourceQuota':
      return ofQuota(change);
    case 'VirtualMachineInstanceMigration':
      return ofMigration(change);
    case 'Pod':
      return ofPod(change);
    case 'Event':
      return ofEvent(change);
    case 'VirtualMachineMigrationResourceQuota':
      return ofVmmrq(change);
    case 'KubeVirt':
      return ofKubeVirt(change);
    case 'MaintenanceProgress':
      return ofProgress(change);
    case 'VirtualMachineInstance':
      return [];
  }
}

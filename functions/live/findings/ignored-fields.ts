import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import type { Plan } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';

/** Fields of a plan that live migrations use. */
const USED: readonly string[] = [
  ...['type', 'provider', 'targetNamespace', 'map', 'vms', 'serviceAccount', 'archived', 'description'],
  ...['targetLabels', 'targetNodeSelector', 'targetAffinity'],
];
/** Fields of an entry of spec.vms that live migrations use, and the kind of the reference. */
const USED_OF_VM: readonly string[] = ['id', 'namespace', 'name', 'type', 'targetName', 'hooks'];

/** Values that Forklift's CRD fills in (facts/cross-cluster.md §A1): nobody has asked for them. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  deleteVmOnFailMigration: true,
  migrateSharedDisks: true,
  preserveStaticIPs: true,
  pvcNameTemplateUseGenerateName: true,
  runPreflightInspection: true,
  targetPowerState: 'auto',
  useCompatibilityMode: true,
};

const MAX_FIELDS = 20;

/** Fields of the plan that are kept, and do nothing: their user may count on them. */
export function ignoredFieldFindings({ spec }: Plan): Finding[] {
  const ofVms = (spec.vms as readonly object[]).flatMap((vm) => ignoredIn(vm, USED_OF_VM));
  const fields = [
    ...ignoredIn(spec, USED).map((field) => `spec.${field}`),
    ...[...new Set(ofVms)].map((field) => `spec.vms[].${field}`),
  ];
  const more = fields.length > MAX_FIELDS ? [`${String(fields.length - MAX_FIELDS)} more`] : [];
  return findingOf([...fields.slice(0, MAX_FIELDS), ...more], {
    ...{ type: LIVE_CONDITION.fieldsIgnored, category: 'Warn', reason: 'NotSupported' },
    message: 'Fields of the plan have no effect on live migrations.',
    suggestion: 'Remove them, and change the VMs themselves where that is needed.',
  });
}

const ignoredIn = (of: object, used: readonly string[]): string[] =>
  Object.entries(of).flatMap(([field, value]) => {
    const isDefault = field in DEFAULTS ? value === DEFAULTS[field] || value === '' : isEmpty(value);
    return used.includes(field) || isDefault || value === null ? [] : [field];
  });

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === false ||
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

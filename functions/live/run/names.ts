import type { KubernetesObject } from '../../domain/objects.ts';
import { GITOPS } from './gitops.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';

/** The VM of a run, by uids. All objects of the run are named after them, so that no crash makes an object twice. */
export interface RunId {
  readonly plan: string;
  readonly migration: string;
  /** The uid of the VM on the source. */
  readonly vm: string;
}

/** The labels of all objects of this VM alone. */
export const runLabels = ({ plan, migration, vm }: RunId): Record<string, string> => ({
  [LIVE_LABEL.plan]: plan,
  [LIVE_LABEL.migration]: migration,
  [LIVE_LABEL.vm]: vm,
});

/** Labels by which Forklift's clean-up or a GitOps tool deletes, and those of an earlier run. */
const FOREIGN: readonly string[] = [
  ...['plan', 'migration', 'vmID'],
  ...GITOPS.labels,
  ...Object.values(LIVE_LABEL),
];

/** Returns the labels that a copy on the target keeps. */
export const portableLabels = (labels: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !FOREIGN.includes(key)));

/** Whether this run has made the object; another object of its name belongs to others. */
export function isOfRun({ metadata }: KubernetesObject, { migration, vm }: RunId): boolean {
  const labels = metadata.labels ?? {};
  return labels[LIVE_LABEL.migration] === migration && labels[LIVE_LABEL.vm] === vm;
}

/** Returns a name of at most 63 characters, as KubeVirt and Jobs make labels of names. A uid begins with eight random digits. */
const nameOf = ({ migration, vm }: RunId, last: string): string =>
  `live-${migration}-${vm.slice(0, 8)}-${last}`.slice(0, 63);

/** The name of the VMIM of an attempt, on either side. */
export const vmimName = (run: RunId, attempt: number): string => nameOf(run, String(attempt));

/** The name of the VMIM that migrates the VM within the target, once it has moved. */
export const localVmimName = (run: RunId): string => nameOf(run, 'local');

/** The id by which the two VMIMs of an attempt find each other: unique in both clusters. */
export const migrationIdOf = ({ migration, vm }: RunId, attempt: number): string =>
  `${migration}-${vm}-${String(attempt)}`;

/** Whether an attempt of this run makes such a VMIM for this VMI: others may foresee the name, but no user can change a spec. */
export function isVmimOf(run: RunId, vmi: string, { metadata: { name }, spec }: Vmim): boolean {
  const attempt = Number(name.split('-').at(-1));
  const { migrationID } = spec.receive ?? spec.sendTo ?? {};
  return (
    name === vmimName(run, attempt) && migrationID === migrationIdOf(run, attempt) && spec.vmiName === vmi
  );
}

/** The name of a hook's Job, and of the ConfigMap that it mounts. */
export const hookName = (run: RunId, step: 'PreHook' | 'PostHook'): string => nameOf(run, step.toLowerCase());

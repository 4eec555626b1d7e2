import type { KubernetesObject } from '../objects.ts';
import { isSame } from '../same.ts';
import type { NewObject } from './decision.ts';
import type { Matcher, VirtualMachine } from './kubevirt.ts';
import { BOUND_SECRETS, LIVE_ANNOTATION, LIVE_KIND, LIVE_LABEL } from './names.ts';
import { portableLabels, type RunId } from './run-names.ts';

/** An object that a VM names, and that must be on the target too. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Secrets, ConfigMaps, instance types and preferences that the VM names, each once (facts/kubevirt.md §6.2). */
export function resourcesOf({ spec }: VirtualMachine): Resource[] {
  const { volumes, accessCredentials, domain } = spec.template.spec;
  const found = [
    ...namesIn(volumes, VOLUME_REFERENCES),
    ...namesIn(accessCredentials, CREDENTIALS),
    ...namesIn([domain['firmware']], KERNEL_BOOT),
    ...matched(spec.instancetype, INSTANCETYPES),
    ...matched(spec.preference, PREFERENCES),
  ];
  const byKey = new Map(found.map((each) => [keyOf(each.kind, each.name), each]));
  return [...byKey.values()];
}

export const keyOf = (kind: string, name: string): string => `${kind} ${name}`;
export const keyOfObject = ({ kind = '', metadata }: KubernetesObject): string => keyOf(kind, metadata.name);

/** The service accounts that its launcher mounts, each once. They are not copied: what one may do is of its cluster. */
export const accountsOf = ({ spec }: VirtualMachine): string[] => [
  ...new Set(
    (spec.template.spec.volumes ?? []).flatMap(
      ({ serviceAccount }) => serviceAccount?.serviceAccountName ?? [],
    ),
  ),
];

/** Objects of these names on both clusters. */
export interface FoundResources {
  readonly onSource: readonly KubernetesObject[];
  readonly onTarget: readonly KubernetesObject[];
}

/**
 * What anybody may know of another namespace: a plan is checked before it is known who will run it, and "differs" would answer guesses
 * of what a Secret has.
 */
export const isNoSecret = ({ kind }: Resource): boolean =>
  [...INSTANCETYPES, ...PREFERENCES].some((each) => each.kind === kind);

/** The admin's to install: it is compared, and never copied. */
export const isClusterWide = ({ kind }: { readonly kind?: string | undefined }): boolean =>
  kind === LIVE_KIND.clusterInstancetype.kind || kind === LIVE_KIND.clusterPreference.kind;

/** Which of these cannot be on the target as they are on the source, with what to do. */
export function resourceProblems(
  resources: readonly Resource[],
  { onSource, onTarget }: FoundResources,
): string[] {
  const [sources, targets] = [onSource, onTarget].map(
    (objects) => new Map(objects.map((object) => [keyOfObject(object), object])),
  );
  return resources.flatMap(({ kind, name }) => {
    const key = keyOf(kind, name);
    const [source, target] = [sources?.get(key), targets?.get(key)];
    if (source === undefined) return target === undefined ? [`${key} is on neither cluster`] : [];
    if (target === undefined) return notPortable(source) ?? [];
    const parts = differingParts(source, target);
    return parts.length === 0
      ? []
      : [`${key} on the target differs in ${parts.join(', ')}: rename one of them, or make them the same`];
  });
}

type Kind = { readonly apiVersion: string; readonly kind: string };

/** By the kind that a matcher names; without one it is the first. */
const INSTANCETYPES: readonly [Kind, Kind] = [LIVE_KIND.clusterInstancetype, LIVE_KIND.instancetype];
const PREFERENCES: readonly [Kind, Kind] = [LIVE_KIND.clusterPreference, LIVE_KIND.preference];

/** Where a name is, by its path, and of what kind it is. */
type References = readonly (readonly [path: string, kind: Kind])[];

const { secret: SECRET, configMap: CONFIG_MAP } = LIVE_KIND;

const VOLUME_REFERENCES: References = [
  ['secret.secretName', SECRET],
  ['configMap.name', CONFIG_MAP],
  ['cloudInitNoCloud.secretRef.name', SECRET],
  ['cloudInitNoCloud.networkDataSecretRef.name', SECRET],
  ['cloudInitConfigDrive.secretRef.name', SECRET],
  ['cloudInitConfigDrive.networkDataSecretRef.name', SECRET],
  ['sysprep.secret.name', SECRET],
  ['sysprep.configMap.name', CONFIG_MAP],
  ['containerDisk.imagePullSecret', SECRET],
];
const CREDENTIALS: References = [
  ['sshPublicKey.source.secret.secretName', SECRET],
  ['userPassword.source.secret.secretName', SECRET],
];
const KERNEL_BOOT: References = [['kernelBoot.container.imagePullSecret', SECRET]];

const namesIn = (objects: readonly unknown[] = [], references: References): Resource[] =>
  objects.flatMap((object) =>
    references.flatMap(([path, kind]) => {
      const name = at(object, path.split('.'));
      return typeof name === 'string' && name !== '' ? [{ ...kind, name }] : [];
    }),
  );

const at = (object: unknown, [key, ...rest]: readonly string[]): unknown =>
  key === undefined || typeof object !== 'object' || object === null
    ? object
    : at((object as Record<string, unknown>)[key], rest);

/** KubeVirt takes a kind in any case, and its plural. */
function matched(matcher: Matcher = {}, kinds: readonly [Kind, Kind]): Resource[] {
  const wanted = (matcher.kind || kinds[0].kind).toLowerCase().replace(/s$/, '');
  const kind = kinds.find((each) => each.kind.toLowerCase() === wanted);
  return matcher.name && kind !== undefined ? [{ ...kind, name: matcher.name }] : [];
}

/** The parts of each kind that are its content. */
const CONTENT: readonly string[] = ['type', 'data', 'stringData', 'binaryData', 'immutable', 'spec'];

const contentOf = (object: KubernetesObject): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([part]) => CONTENT.includes(part)));

/** Why the object must not leave its cluster, with what to do; undefined: it may. */
export function notPortable({ kind, metadata, ...object }: KubernetesObject): string | undefined {
  if (isClusterWide({ kind }))
    return `${kind} ${metadata.name} is not on the target: have an admin install it there`;
  const { type = '' } = object as { type?: string };
  if (kind !== SECRET.kind || !BOUND_SECRETS.includes(type)) return undefined;
  return `Secret ${metadata.name} is of type ${type}, which means nothing on another cluster: take it out of the VM`;
}

/** Parts in which an object that is on the target already differs; none: it is used as it is. Values are never named. */
export const differingParts = (source: KubernetesObject, target: KubernetesObject): string[] =>
  [...new Set([...Object.keys(contentOf(source)), ...Object.keys(contentOf(target))])].filter(
    (part) => !isSame(contentOf(source)[part], contentOf(target)[part]),
  );

/**
 * The copy for the target. Other VMs may come to use it, so it has the label of the plan alone; the annotation says which run may
 * delete it again.
 */
export function copyOf(object: KubernetesObject, run: RunId, namespace: string): NewObject {
  const { apiVersion, kind, metadata } = object;
  return {
    ...{ apiVersion, kind },
    ...contentOf(object),
    metadata: {
      name: metadata.name,
      namespace,
      labels: { ...portableLabels(metadata.labels), [LIVE_LABEL.plan]: run.plan },
      annotations: { [LIVE_ANNOTATION.madeBy]: `${run.migration} ${run.vm}` },
    },
  } as NewObject;
}

/** Whether this run made the copy. */
export const isMadeBy = ({ metadata }: KubernetesObject, run: RunId): boolean =>
  metadata.annotations?.[LIVE_ANNOTATION.madeBy] === `${run.migration} ${run.vm}`;

import type { KubernetesObject } from '../../domain/objects.ts';
import { formatQuantity, isHardQuantity, parseQuantity } from '../../domain/quantity.ts';
import { isSame } from '../../domain/same.ts';
import type { NewObject } from '../run/decision.ts';
import type { ControllerRevision, Matcher, MatchedRef, VirtualMachine } from '../../domain/live/kubevirt.ts';
import { BOUND_SECRETS, LIVE_ANNOTATION, LIVE_KIND, LIVE_LABEL } from '../../domain/live/names.ts';
import { portableLabels, type RunId } from '../run/names.ts';

/** An object that a VM names, and that must be on the target too. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** The ControllerRevision of the source with the content that the VM runs with; left out if KubeVirt has stored none. */
  readonly revision?: string;
}

/** Returns the Secrets, ConfigMaps, instance types and preferences that the VM names, each once (facts/kubevirt.md §6.2). */
export function resourcesOf({ spec, status = {} }: VirtualMachine): Resource[] {
  const { volumes, accessCredentials, domain } = spec.template.spec;
  const found = [
    ...namesIn(volumes, VOLUME_REFERENCES),
    ...namesIn(accessCredentials, CREDENTIALS),
    ...namesIn([domain['firmware']], KERNEL_BOOT),
    ...matched(spec.instancetype, status.instancetypeRef, INSTANCETYPES),
    ...matched(spec.preference, status.preferenceRef, PREFERENCES),
  ];
  const byKey = new Map(found.map((each) => [keyOf(each.kind, each.name), each]));
  return [...byKey.values()];
}

export const keyOf = (kind: string, name: string): string => `${kind} ${name}`;
export const keyOfObject = ({ kind = '', metadata }: KubernetesObject): string => keyOf(kind, metadata.name);

/** Objects of these names on both clusters. */
export interface FoundResources {
  readonly onSource: readonly KubernetesObject[];
  readonly onTarget: readonly KubernetesObject[];
}

/**
 * Whether any user may know of the object in another namespace. A plan is checked before the user who will run it is known, and "differs"
 * would answer guesses of a Secret's content.
 */
export const isNoSecret = ({ kind }: Resource): boolean =>
  [...INSTANCETYPES, ...PREFERENCES].some((each) => each.kind === kind);

/** Advice if the types may not be read: a cluster may have a role of an earlier version. */
export const TYPES_HIDDEN =
  'instance types, preferences and ControllerRevisions on the source must be readable, since the VM names some: ' +
  'kubectl apply -k config/components/live-migration/member';

/** Whether the object is cluster-wide and thus the admin's to install: it is compared, and never copied. */
export const isClusterWide = ({ kind }: { readonly kind?: string | undefined }): boolean =>
  kind === LIVE_KIND.clusterInstancetype.kind || kind === LIVE_KIND.clusterPreference.kind;

/** Returns the objects that cannot be on the target as they are on the source, with what to do. */
export function resourceProblems(
  resources: readonly Resource[],
  { onSource, onTarget }: FoundResources,
): string[] {
  const [sources, targets] = [onSource, onTarget].map(
    (objects) => new Map(objects.map((object) => [keyOfObject(object), object])),
  );
  return resources.flatMap((resource) => {
    const key = keyOf(resource.kind, resource.name);
    const [source, target] = [sources?.get(key), targets?.get(key)];
    if (source === undefined) return notOnSource(resource);
    if (target === undefined) return notPortable(source) ?? [];
    const parts = differingParts(source, target);
    if (parts.length === 0) return [];
    const { revision } = resource;
    const than = revision === undefined ? '' : ` from ControllerRevision ${revision}, which the VM runs with`;
    return [
      `${key} on the target differs in ${parts.join(', ')}${than}: rename one of them, or make them the same`,
    ];
  });
}

/**
 * Returns the problem of an object that is not on the source, whatever is on the target: the guest would read one that was never its own, now
 * or once somebody makes it, also where its volume is optional. It does not tell whether there is one.
 */
function notOnSource({ kind, name, revision }: Resource): string {
  const key = keyOf(kind, name);
  return revision === undefined
    ? `${key} is not on the source: create it there, or take it out of the VM and restart it while no run moves it`
    : `${key} as the VM runs with it is not known, because ControllerRevision ${revision} is not there or does not have it: let the VM name another one, and restart it while no run moves it`;
}

type Kind = { readonly apiVersion: string; readonly kind: string };

/** The kinds of an instance type by the kind that a matcher names; without one it is the first. */
const INSTANCETYPES: readonly [Kind, Kind] = [LIVE_KIND.clusterInstancetype, LIVE_KIND.instancetype];
const PREFERENCES: readonly [Kind, Kind] = [LIVE_KIND.clusterPreference, LIVE_KIND.preference];

/** Paths of names, each with the kind that it names. */
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

/** Returns the object that a matcher names. KubeVirt takes a kind in any case, and its plural. */
function matched(
  matcher: Matcher = {},
  ref: MatchedRef | undefined,
  kinds: readonly [Kind, Kind],
): Resource[] {
  const wanted = (matcher.kind || kinds[0].kind).toLowerCase().replace(/s$/, '');
  const kind = kinds.find((each) => each.kind.toLowerCase() === wanted);
  if (!matcher.name || kind === undefined) return [];
  const revision = revisionOf(matcher, ref);
  return [{ ...kind, name: matcher.name, ...(revision && { revision }) }];
}

/**
 * Returns the ControllerRevision. The status is about the instance type before until KubeVirt sees that the VM names another one
 * (facts/kubevirt.md §6.3).
 */
const revisionOf = ({ name, revisionName }: Matcher, ref: MatchedRef = {}): string | undefined =>
  revisionName || (ref.name === name ? ref.controllerRevisionRef?.name : undefined);

/**
 * Returns the instance type or preference that a ControllerRevision has, as an object of the name by which the VM knows it, in whatever
 * version of its API; undefined if it has none. Another controller's may have a spec too, which is not for the target.
 */
export function storedIn(
  { data = {} }: ControllerRevision,
  { apiVersion, kind, name }: Resource,
): KubernetesObject | undefined {
  const isOne = data.apiVersion?.split('/')[0] === apiVersion.split('/')[0];
  if (!isOne || typeof data.spec !== 'object' || data.spec === null) return undefined;
  return { apiVersion, kind, metadata: { name }, spec: data.spec } as unknown as KubernetesObject;
}

/** The parts of each kind that are its content. */
const CONTENT: readonly string[] = ['type', 'data', 'stringData', 'binaryData', 'immutable', 'spec'];

const contentOf = (object: KubernetesObject): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([part]) => CONTENT.includes(part)));

/** Returns why the object must not leave its cluster, with what to do; undefined if it may. */
export function notPortable({ kind, metadata, ...object }: KubernetesObject): string | undefined {
  if (isClusterWide({ kind }))
    return `${kind} ${metadata.name} is not on the target: have an admin install it there`;
  const { type = '' } = object as { type?: string };
  if (kind !== SECRET.kind || !BOUND_SECRETS.includes(type)) return undefined;
  return `Secret ${metadata.name} is of type ${type}, which means nothing on another cluster: take it out of the VM`;
}

/** Returns the parts in which an object that is on the target already differs; none if it is used as it is. Values are never named. */
export const differingParts = (source: KubernetesObject, target: KubernetesObject): string[] =>
  [...new Set([...Object.keys(contentOf(source)), ...Object.keys(contentOf(target))])].filter(
    (part) => !isSame(comparable(source)[part], comparable(target)[part]),
  );

/**
 * Returns the object in a form to compare. KubeVirt writes amounts of memory into a ControllerRevision in its own form: "4096Mi" becomes
 * "4Gi" there.
 */
const comparable = (object: KubernetesObject): Record<string, unknown> => {
  const { spec, ...others } = contentOf(object);
  return spec === undefined ? others : { ...others, spec: withAmounts(spec) };
};

const withAmounts = (spec: unknown): unknown =>
  JSON.parse(
    JSON.stringify(spec, (key, value: unknown) => (AMOUNTS.includes(key) ? amountOf(value) : value)),
  );

const AMOUNTS: readonly string[] = ['guest', 'maxGuest'];

const amountOf = (value: unknown): unknown =>
  isHardQuantity(String(value)) ? formatQuantity(parseQuantity(String(value))) : value;

/**
 * Returns the copy for the target. Other VMs may come to use it, so it has the label of the plan alone; the annotation names the run that
 * may delete it again.
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

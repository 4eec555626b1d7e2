import { findingOf, withReady, type Finding } from '../../domain/live/conditions.ts';
import type { Hook, NetworkMap, StorageMap, VmReference } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { mappedNetworkOf } from '../on-target/standby-vm.ts';

/** Storage classes, or networks as `namespace/name`, of one cluster; undefined if they are not known. */
export type Known = ReadonlySet<string> | undefined;

/** Names of objects on both clusters of a map. */
export type KnownNames = Readonly<Record<'source' | 'target', Known>>;

const isMissing = (name: string, known: Known): boolean => name !== '' && known?.has(name) === false;

const isUnset = ({ id = '', name = '' }: VmReference): boolean => id === '' && name === '';

/** Findings of a storage map. A source that is not there (yet) is a warning, as in Forklift. */
export function storageMapFindings({ spec }: StorageMap, { source, target }: KnownNames): readonly Finding[] {
  const unset = spec.map.filter((entry) => isUnset(entry.source));
  const sources = spec.map.map((entry) => entry.source.name ?? '');
  const targets = spec.map.map(({ destination }) => destination.storageClass);
  const findings = [
    ...findingOf(
      unset.map(({ destination }) => destination.storageClass),
      {
        type: LIVE_CONDITION.sourceStorageNotValid,
        reason: 'NotSet',
        message: 'Source storage: either `ID` or `Name` required.',
        suggestion: 'Set source.name to a storage class of the source.',
      },
    ),
    ...findingOf(
      sources.filter((name) => isMissing(name, source)),
      {
        type: LIVE_CONDITION.sourceStorageNotValid,
        category: 'Warn',
        reason: 'NotFound',
        message: 'Source storage not found.',
        suggestion: 'Remove these entries, or correct their names.',
      },
    ),
    ...findingOf(
      targets.filter((name) => isMissing(name, target)),
      {
        type: LIVE_CONDITION.destinationStorageNotValid,
        reason: 'NotFound',
        message: 'Destination storage not found.',
        suggestion: 'Create these storage classes on the target, or map to others.',
      },
    ),
  ];
  return withReady(findings, 'The storage map is ready.');
}

/** The networks of the source that a map is for, each `namespace/name`. */
export const mappedNetworks = ({ spec }: NetworkMap): string[] =>
  spec.map.flatMap(({ source }) => (source.type === 'pod' ? [] : (mappedNetworkOf(source) ?? [])));

/** Findings of a network map. A source that is not there (yet) is a warning, as in Forklift. */
export function networkMapFindings(
  map: NetworkMap,
  { source: known, target }: KnownNames,
): readonly Finding[] {
  const { spec } = map;
  const unset = spec.map.filter(
    ({ source }) => source.type !== 'pod' && mappedNetworkOf(source) === undefined,
  );
  const multus = spec.map.filter(({ destination }) => destination.type === 'multus');
  const names = multus.map(({ destination: { namespace = '', name = '' } }) => `${namespace}/${name}`);
  const findings = [
    ...findingOf(
      unset.map(({ source, destination }) => source.name || source.id || destination.type),
      {
        type: LIVE_CONDITION.sourceNetworkNotValid,
        reason: 'NotSet',
        message: 'Source network: `Namespace` and `Name`, or `Type` pod required.',
        suggestion: 'Set source.type to pod, or source.namespace and source.name.',
      },
    ),
    ...findingOf(
      mappedNetworks(map).filter((name) => isMissing(name, known)),
      {
        type: LIVE_CONDITION.sourceNetworkNotValid,
        category: 'Warn',
        reason: 'NotFound',
        message: 'Source network not found.',
        suggestion: 'Remove these entries, or correct their names.',
      },
    ),
    ...findingOf(
      names.filter((name) => name.startsWith('/')),
      {
        type: LIVE_CONDITION.destinationNetworkNotValid,
        reason: 'Ambiguous',
        message: 'Destination network (NAD): namespace required.',
        suggestion: 'Set destination.namespace.',
      },
    ),
    ...findingOf(
      names.filter((name) => !name.startsWith('/') && isMissing(name, target)),
      {
        type: LIVE_CONDITION.destinationNetworkNotValid,
        reason: 'NotFound',
        message: 'Destination network (NAD) not found.',
        suggestion: 'Create these NetworkAttachmentDefinitions on the target, or map to others.',
      },
    ),
  ];
  return withReady(findings, 'The network map is ready.');
}

/** Findings of a hook, without its plan. */
export function hookFindings({ metadata, spec: { image = '', playbook = '' } }: Hook): readonly Finding[] {
  const findings = [
    ...findingOf(image === '' ? [metadata.name] : [], {
      type: LIVE_CONDITION.invalidImage,
      reason: 'NotSet',
      message: 'The hook has no image.',
      suggestion: 'Set spec.image. Jobs of an Ansible Automation Platform (aap) need Forklift.',
    }),
    ...findingOf(BASE64.test(playbook) ? [] : [metadata.name], {
      type: LIVE_CONDITION.invalidPlaybook,
      reason: 'DataErr',
      message: 'The playbook is not base64.',
      suggestion: 'Set spec.playbook to the output of: base64 -w0 playbook.yml',
    }),
  ];
  return withReady(findings, 'The hook is ready.');
}

const BASE64 = /^[A-Za-z0-9+/\n]*={0,2}\n?$/;

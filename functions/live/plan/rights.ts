import type { NamedReference, Plan } from '../../domain/live/forklift.ts';
import { KIND } from '../../domain/names.ts';
import type { NewObject } from '../run/decision.ts';
import { FORKLIFT_KIND, LIVE_KIND } from '../../domain/live/names.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { isClusterWide, resourcesOf } from '../target/resources.ts';
import { named } from '../../domain/live/reference.ts';

/** One verb on one kind, as in a SubjectAccessReview. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  /** Left out: every object. */
  readonly name?: string;
}

type Kind = { readonly apiVersion: string; readonly kind: string };

const rightTo = (verb: string, { apiVersion, kind }: Kind, at: Pick<Right, 'namespace' | 'name'>): Right => ({
  verb,
  group: apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '',
  resource: `${kind.toLowerCase()}s`,
  ...at,
});

/** To run a plan, it must be readable. */
export const rightToRead = (at: Required<NamedReference>): Right => rightTo('get', FORKLIFT_KIND.plan, at);

/**
 * A user who may use a provider acts with its token there. It is what an admin gives for migrations to other clusters, in place of
 * KubeVirt's role `kubevirt.io:migrate`: no right to create VMIMs is asked for.
 */
export const rightToUse = (at: Required<NamedReference>): Right => rightTo('use', FORKLIFT_KIND.provider, at);

/** To use both providers of the plan, each once. */
export function rightsToUse({ spec: { provider }, metadata }: Plan): Right[] {
  const { namespace = '' } = metadata;
  return eachOnce(
    [provider.source, provider.destination].map((reference) =>
      rightToUse({ namespace, ...named(reference) }),
    ),
  );
}

export interface Hosts {
  /** The VMs leave the cluster of the plan. */
  readonly isSource: boolean;
  /** They come to it. */
  readonly isTarget: boolean;
}

/** What a run does in the cluster of its plan, which `live` may do for anybody: the user must be allowed to do it too. */
export function rightsToMove({ spec, metadata }: Plan, { isSource, isTarget }: Hosts): Right[] {
  const { namespace = '' } = metadata;
  const hooks = spec.vms.flatMap((vm) => vm.hooks ?? []).map(({ hook }) => ({ namespace, ...named(hook) }));
  return [
    ...(isSource ? spec.vms.flatMap(rightsToTake) : []),
    ...(isTarget ? MADE.map((kind) => rightTo('create', kind, { namespace: spec.targetNamespace })) : []),
    ...(hooks.length > 0 ? [rightTo('create', POD, { namespace })] : []),
    ...hooks.map((hook) => rightTo('get', FORKLIFT_KIND.hook, hook)),
  ];
}

const POD: Kind = { apiVersion: 'v1', kind: 'Pod' };
const MADE: readonly Kind[] = [LIVE_KIND.vm, LIVE_KIND.dataVolume, LIVE_KIND.claim];

/** A VM that leaves is read, halted, and its VMI deleted. A VM that is given by its id only may be any. */
const rightsToTake = ({ namespace = '', name }: NamedReference): Right[] =>
  ['get', 'update', 'delete'].map((verb) =>
    rightTo(verb, LIVE_KIND.vm, { namespace, ...(name === undefined ? {} : { name }) }),
  );

/**
 * To copy what a VM of the plan's cluster names: known when the VM is read, at the start of its run. Of an instance type, to read what is
 * copied: the ControllerRevision, where there is one.
 */
export const rightsToCopy = (vm: VirtualMachine): Right[] =>
  resourcesOf(vm)
    .filter((each) => !isClusterWide(each))
    .map(({ name, revision, ...kind }) => {
      const { namespace = '' } = vm.metadata;
      return revision === undefined
        ? rightTo('get', kind, { namespace, name })
        : rightTo('get', LIVE_KIND.revision, { namespace, name: revision });
    });

/** To make what VMs name in their target namespace, in the plan's cluster. */
export const rightsToMake = (vms: readonly VirtualMachine[], namespace: string): Right[] => {
  const kinds = vms.flatMap(resourcesOf).filter((each) => !isClusterWide(each));
  return [...new Map(kinds.map((each) => [each.kind, each])).values()].map((kind) =>
    rightTo('create', kind, { namespace }),
  );
};

/** To make these objects, each kind once. Without the rest a VMIM moves nothing, so that takes no right. */
export const rightsToCreate = (objects: readonly NewObject[]): Right[] =>
  eachOnce(
    objects
      .filter(({ kind }) => kind !== KIND.migration.kind)
      .map(({ apiVersion = '', kind = '', metadata: { namespace = '' } }) =>
        rightTo('create', { apiVersion, kind }, { namespace }),
      ),
  );

/** To make the target namespace in the plan's cluster. */
export const RIGHT_TO_MAKE_NAMESPACE: Right = rightTo('create', LIVE_KIND.namespace, { namespace: '' });

const eachOnce = (rights: readonly Right[]): Right[] => [
  ...new Map(rights.map((right) => [describeRight(right), right])).values(),
];

/** As in `kubectl auth can-i`. */
export function describeRight({ verb, group, resource, namespace, name }: Right): string {
  const of = `${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : `/${name}`}`;
  if (resource === 'namespaces') return `${verb} ${of}`;
  return `${verb} ${of} ${namespace === '' ? 'in all namespaces' : `in namespace ${namespace}`}`;
}

/** Which rights the user lacks, in words. */
export const describeMissingRights = (user: string, missing: readonly Right[]): string =>
  `User "${user}" cannot ${missing.map(describeRight).join(', ')}.`;

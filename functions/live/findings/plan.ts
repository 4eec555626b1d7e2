import { DNS_LABEL } from '../../domain/dns-name.ts';
import {
  critical,
  findingOf,
  has,
  problemsIn,
  withReady,
  type Finding,
} from '../../domain/live/conditions.ts';
import type { NamedReference, Plan, Provider } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, type LiveConditionType } from '../../domain/live/names.ts';
import type { PlanView } from './plan-view.ts';
import { describeName } from '../run/describe.ts';
import { clusterFindings } from './clusters.ts';
import { gitOpsFindings } from './gitops.ts';
import { planHookFindings } from './hooks.ts';
import { ignoredFieldFindings } from './ignored-fields.ts';
import { limitRangeFindings } from './limit-ranges.ts';
import { networkMapFindings, storageMapFindings } from './maps.ts';
import { quotaFindings } from './quota.ts';
import { vmFindings } from './vms.ts';
import { volumeFindings } from './volumes.ts';
import { candidatesOf, isFree } from './candidates.ts';
import { movedFindings } from './moved.ts';
import { nextCrashFindings } from './next-crash.ts';

/**
 * Problems that keep a plan from running, in Forklift's words (facts/cross-cluster.md §A1). VMs are not checked while one of the plan's
 * migrations runs: its effects on them are no problem of the plan.
 */
export function planFindings(view: PlanView): readonly Finding[] {
  const { plan } = view;
  const isExecuting = has(plan.status, LIVE_CONDITION.executing);
  const inNamespace = namespace(view);
  const findings = [
    ...providers(view),
    ...inNamespace,
    ...maps(view),
    ...(inNamespace.length === 0 ? networksOfTarget(view) : []),
    ...clusterFindings(view),
    ...planHookFindings(view),
    ...ignoredFieldFindings(plan),
    ...(isExecuting ? [] : ofVms(view)),
    ...movedFindings(plan.status?.migration?.vms),
  ];
  return withReady(findings, 'The migration plan is ready.');
}

function ofVms(view: PlanView): Finding[] {
  const candidates = candidatesOf(view).filter(isFree);
  return [
    ...vmFindings(view),
    ...volumeFindings(view, candidates),
    ...quotaFindings(view, candidates),
    ...limitRangeFindings(view, candidates),
    ...nextCrashFindings(candidates),
    ...gitOpsFindings(candidates),
  ];
}

/** The findings of an archived plan, in Forklift's words: nothing else of it is checked. */
export const ARCHIVED: readonly Finding[] = [
  {
    ...{ type: LIVE_CONDITION.archived, category: 'Advisory', reason: 'UserRequested' },
    message: 'The migration plan has been archived.',
  },
];

const SIDES = [
  {
    side: 'source',
    notValid: LIVE_CONDITION.sourceProviderNotValid,
    notReady: LIVE_CONDITION.sourceProviderNotReady,
  },
  {
    side: 'destination',
    notValid: LIVE_CONDITION.destinationProviderNotValid,
    notReady: LIVE_CONDITION.destinationProviderNotReady,
  },
] as const;

const providers = ({ plan, ...view }: PlanView): Finding[] =>
  SIDES.flatMap(({ side, notValid, notReady }) => {
    const provider = view[side];
    const message = `The ${side} provider is not valid.`;
    if (!isSet(plan.spec.provider[side]))
      return critical(notValid, 'NotSet', { message, suggestion: `Set spec.provider.${side}.` });
    if (provider === undefined)
      return critical(notValid, 'NotFound', { message, suggestion: `Create the Provider of the ${side}.` });
    if (provider.spec.type !== 'openshift')
      return critical(notValid, 'TypeNotValid', { message, suggestion: 'Use a provider of type openshift.' });
    return has(provider.status, LIVE_CONDITION.ready) ? [] : notReadyProvider(notReady, provider);
  });

const notReadyProvider = (type: LiveConditionType, { metadata }: Provider): Finding => ({
  type,
  category: 'Critical',
  message: 'The provider does not have the Ready condition.',
  suggestion: `See the conditions of Provider ${metadata.name}.`,
});

const isSet = (reference: NamedReference | undefined): boolean => (reference?.name ?? '') !== '';

function namespace({ plan, sourceCluster, targetCluster }: PlanView): Finding[] {
  const message = 'Target namespace is not valid.';
  const { targetNamespace = '' } = plan.spec as Partial<Plan['spec']>;
  const type = LIVE_CONDITION.namespaceNotValid;
  if (targetNamespace === '')
    return [critical(type, 'NotSet', { message, suggestion: 'Set spec.targetNamespace.' })];
  if (!DNS_LABEL.test(targetNamespace))
    return [
      critical(type, 'NotValid', { message, suggestion: 'Use the name of a namespace, such as tenant-a.' }),
    ];
  const isSame = sourceCluster !== undefined && sourceCluster.cluster === targetCluster?.cluster;
  const already = (sourceCluster?.vms ?? [])
    .flatMap(({ found }) => found)
    .filter(({ metadata }) => isSame && metadata.namespace === targetNamespace);
  if (already.length === 0) return [];
  return [
    critical(type, 'NotValid', {
      message,
      suggestion: 'The VMs are in this namespace of this cluster already: choose another one.',
      items: already.map(describeName),
    }),
  ];
}

/** Problems of the maps, by their content: their own conditions are for their own requesters, and may be old. */
function maps({ plan, networks, storage, knownNetworks, storageClasses }: PlanView): Finding[] {
  const { network, storage: storageRef } = (plan.spec as Partial<Plan['spec']>).map ?? {};
  return [
    ...mapFinding(
      { name: 'Network', reference: network, found: networks && networkMapFindings(networks, knownNetworks) },
      [LIVE_CONDITION.networkMapRefNotValid, LIVE_CONDITION.networkMapNotReady],
    ),
    ...mapFinding(
      {
        name: 'Storage',
        reference: storageRef,
        found: storage && storageMapFindings(storage, storageClasses),
      },
      [LIVE_CONDITION.storageRefNotValid, LIVE_CONDITION.storageMapNotReady],
    ),
  ];
}

interface MapOfPlan {
  readonly name: string;
  readonly reference: NamedReference | undefined;
  /** Findings of the map; undefined if there is none. */
  readonly found: readonly Finding[] | undefined;
}

function mapFinding(
  { name, reference, found }: MapOfPlan,
  [notValid, notReady]: readonly [LiveConditionType, LiveConditionType],
): Finding[] {
  const message = `Map.${name} is not valid.`;
  const kind = `${name}Map`;
  if (!isSet(reference))
    return [
      critical(notValid, 'NotSet', {
        message,
        suggestion: `Set spec.map.${name.toLowerCase()} to a ${kind}.`,
      }),
    ];
  const map = reference?.name ?? '';
  if (found === undefined)
    return [critical(notValid, 'NotFound', { message, suggestion: `Create the ${kind} ${map}.` })];
  return findingOf(problemsIn(found), {
    type: notReady,
    reason: 'NotValid',
    message: `Map.${name} does not have Ready condition.`,
    suggestion: `Correct the ${kind} ${map}.`,
  });
}

/** Networks of the target that VMs cannot use: VMs may use those of their own namespace and of default. */
function networksOfTarget({ plan, networks }: PlanView): Finding[] {
  const { targetNamespace } = plan.spec;
  const elsewhere = (networks?.spec.map ?? [])
    .filter(({ destination }) => destination.type === 'multus')
    .filter(({ destination: { namespace = '' } }) => ![targetNamespace, 'default'].includes(namespace));
  return elsewhere.map(({ destination: { namespace = '', name = '' } }) =>
    critical(LIVE_CONDITION.destinationNadNotValid, 'NotValid', {
      message:
        `Destination NAD ${namespace}/${name} must be in either the target namespace (${targetNamespace}) or the default ` +
        'namespace.',
      suggestion: 'Map to a NetworkAttachmentDefinition of one of these namespaces.',
    }),
  );
}

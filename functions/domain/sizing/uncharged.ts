import { isDone } from '../migration.ts';
import {
  canonicalKey,
  isChargedByPods,
  mayCountClaims,
  sumOf,
  type Blocking,
  type Shortfall,
} from '../quota/charged.ts';
import { quotaCoversPod } from '../quota/scopes.ts';
import type { Container, ContainerStatus, Pod, ResourceList, ResourceQuota } from '../objects.ts';
import { describeQuantity, parseQuantity } from '../quantity.ts';
import type { Uncharged, UnchargedOf } from '../snapshot.ts';
import { podUsage } from './pod-usage.ts';

/** Whether the quota counts pods that have ended too, of which the object is there. */
export const countsEnded = ({ status }: ResourceQuota): boolean => status?.used?.[OF_ALL_PODS] !== undefined;

const OF_ALL_PODS = 'count/pods';

/**
 * Finds where the quotas count more than these pods of the namespace, as admission charged them: the quota controller has not
 * recounted since a pod ended. Within seconds it does, and within five minutes after a pod that was charged and not created. `pods`: all,
 * or the living ones where no quota counts those that have ended.
 */
export const unchargedIn = (quotas: readonly ResourceQuota[], pods: readonly Pod[]): UnchargedOf =>
  new Map(quotas.map((quota) => [quota.metadata.uid, unchargedBy(quota, pods)] as const));

function unchargedBy(quota: ResourceQuota, pods: readonly Pod[]): Map<string, Uncharged> {
  const covered = pods.filter((pod) => quotaCoversPod(quota, pod));
  const all = sumOf(covered.map(podUsage));
  const living = sumOf(covered.filter((pod) => !isDone(pod)).map((pod) => podUsage(asCharged(pod))));
  const found = new Map<string, Uncharged>();
  for (const [key, text] of Object.entries(quota.status?.used ?? {})) {
    if (!isChargedByPods(key)) continue;
    const used = parseQuantity(text);
    const charged = (key === OF_ALL_PODS ? all : living).get(canonicalKey(key)) ?? 0n;
    if (used > charged) found.set(key, { used, charged });
  }
  return found;
}

/**
 * The pod as a quota charges it while a resize is under way: the most of spec and status (kubernetes 1.36
 * pkg/quota/v1/evaluator/core/pods.go and component-helpers resource, UseStatusResources). One that the node cannot do is charged by its
 * status alone, which may be less.
 */
function asCharged({ status = {}, spec, ...pod }: Pod): Pod {
  const { containerStatuses: running = [], initContainerStatuses: started = [] } = status;
  const { containers, initContainers } = spec;
  return {
    ...pod,
    status,
    spec: {
      ...spec,
      containers: containers.map((each) => atMost(each, running)),
      ...(initContainers === undefined
        ? {}
        : { initContainers: initContainers.map((each) => atMost(each, started)) }),
    },
  };
}

function atMost(container: Container, statuses: readonly ContainerStatus[]): Container {
  const status = statuses.find(({ name }) => name === container.name);
  if (status?.resources === undefined) return container;
  const { requests, limits } = container.resources ?? {};
  return {
    ...container,
    resources: {
      requests: larger([requests, status.resources.requests, status.allocatedResources]),
      limits: larger([limits, status.resources.limits]),
    },
  };
}

function larger(lists: readonly (ResourceList | undefined)[]): ResourceList {
  const most: ResourceList = {};
  for (const [resource, text] of lists.flatMap((list) => Object.entries(list ?? {}))) {
    const before = most[resource];
    if (before === undefined || parseQuantity(text) > parseQuantity(before)) most[resource] = text;
  }
  return most;
}

/** The shortfalls as they will be once the quotas are recounted; what ResourceClaims may be charged stays. */
export const recounted = (blocking: readonly Blocking[], uncharged: UnchargedOf): Blocking[] =>
  blocking.flatMap(({ quota, shortfalls }) => {
    const of = uncharged.get(quota.uid);
    const left = shortfalls.flatMap(({ key, missing }): Shortfall[] => {
      const { used, charged } = of?.get(key) ?? { used: 0n, charged: 0n };
      const rest = missing - (mayCountClaims(key) ? 0n : used - charged);
      return rest > 0n ? [{ key, missing: rest }] : [];
    });
    return left.length === 0 ? [] : [{ quota, shortfalls: left }];
  });

/** Describes it for the keys of these shortfalls; '': nothing. */
export function describeUncharged(blocking: readonly Blocking[], uncharged: UnchargedOf): string {
  const found = blocking.flatMap(({ quota, shortfalls }) =>
    shortfalls.flatMap(({ key }) => {
      const { used, charged } = uncharged.get(quota.uid)?.get(key) ?? {};
      if (used === undefined || charged === undefined) return [];
      const more = describeQuantity(key, used - charged);
      const text = `${key} of ResourceQuota ${quota.name} is ${more} more than the pods of its namespace are charged`;
      return [{ text, isUnsure: mayCountClaims(key) }];
    }),
  );
  const textsOf = (unsure: boolean): string =>
    found
      .filter(({ isUnsure }) => isUnsure === unsure)
      .map(({ text }) => text)
      .join(', ');
  const [sure, unsure] = [textsOf(false), textsOf(true)];
  return [
    ...(sure === '' ? [] : [`used ${sure}: the quota controller does not recount`]),
    ...(unsure === '' ? [] : [`used ${unsure}: by ResourceClaims, or the quota controller does not recount`]),
  ].join('; ');
}

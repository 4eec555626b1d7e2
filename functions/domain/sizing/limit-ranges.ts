import type { Container, LimitRange, Pod, ResourceList } from '../objects.ts';
import { parseQuantity } from '../quantity.ts';

/** The annotation that lists what the LimitRanger admission plugin filled in (kubernetes 1.36 limitranger/admission.go). */
export const LIMIT_RANGER = 'kubernetes.io/limit-ranger';

const FILLED_IN = /^(.+) (request|limit) for (container|init container) (.+)$/;

/** The pod without the defaults that a LimitRange filled in at its creation. Unreadable entries are left in place. */
export function withoutDefaults(pod: Pod): Pod {
  const text = pod.metadata.annotations?.[LIMIT_RANGER];
  if (text === undefined) return pod;
  return text
    .replace(/^LimitRanger plugin set: /, '')
    .split('; ')
    .reduce(without, pod);
}

/** Removes one entry, such as "cpu, memory request for container compute". */
function without(pod: Pod, entry: string): Pod {
  const [, resources = '', kind, where, name] = FILLED_IN.exec(entry) ?? [];
  const list = kind === 'request' ? 'requests' : 'limits';
  const dropped = new Set(resources.split(', '));
  const emptied = (container: Container): Container =>
    container.name === name
      ? changed(container, list, (before) =>
          Object.fromEntries(Object.entries(before).filter(([resource]) => !dropped.has(resource))),
        )
      : container;
  return where === 'init container' ? inInitContainers(pod, emptied) : inContainers(pod, emptied);
}

/** The pod as the LimitRanger would complete it now: with defaults where a container has no value. */
export function withDefaults(pod: Pod, ranges: readonly LimitRange[]): Pod {
  const perContainer = ranges.flatMap(({ spec }) => spec.limits).filter(({ type }) => type === 'Container');
  const limits = greatest(perContainer.map((each) => each.default ?? {}));
  const requests = greatest(perContainer.map((each) => each.defaultRequest ?? {}));
  const completed = (container: Container): Container =>
    changed(
      changed(container, 'limits', (own) => ({ ...limits, ...own })),
      'requests',
      (own) => ({ ...requests, ...own }),
    );
  return inInitContainers(inContainers(pod, completed), completed);
}

/** The API server decides which of several LimitRanges comes first: the greatest default is never too little. */
function greatest(lists: readonly ResourceList[]): ResourceList {
  const max: ResourceList = {};
  for (const [resource, text] of lists.flatMap((list) => Object.entries(list))) {
    const known = max[resource];
    if (known === undefined || parseQuantity(text) > parseQuantity(known)) max[resource] = text;
  }
  return max;
}

/** The container with another list of requests or limits. */
export function changed(
  container: Container,
  list: 'requests' | 'limits',
  change: (before: ResourceList) => ResourceList,
): Container {
  const { resources = {} } = container;
  return { ...container, resources: { ...resources, [list]: change(resources[list] ?? {}) } };
}

export const inContainers = (pod: Pod, change: (container: Container) => Container): Pod => ({
  ...pod,
  spec: { ...pod.spec, containers: pod.spec.containers.map(change) },
});

const inInitContainers = (pod: Pod, change: (container: Container) => Container): Pod =>
  pod.spec.initContainers === undefined
    ? pod
    : { ...pod, spec: { ...pod.spec, initContainers: pod.spec.initContainers.map(change) } };

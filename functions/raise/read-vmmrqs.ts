import type { Vmmrq } from '../domain/objects.ts';
import { clusterWideName } from '../domain/vmmrq-name.ts';
import type { StepContext } from '../host/step.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';
import { CLUSTER_VMMRQS, VMMRQS } from '../kubernetes/resources.ts';

/** Maximum number of VMMRQs that are read one by one, in parallel: a list waits for the API server's cache, a GET never does. */
const FEW = 3;

/** The VMMRQs that the lock names, as they are now. Where they are many, or it names none: all of the namespace. */
export async function readVmmrqs(
  namespace: string,
  names: readonly string[],
  { cluster }: StepContext,
): Promise<readonly Vmmrq[]> {
  const ofCluster = names.flatMap((name) => clusterWideName(name) ?? []);
  const own = names.filter((name) => clusterWideName(name) === undefined);
  const isListed = names.length === 0 || own.length > FEW;
  const [wide, ofNamespace] = await Promise.all([
    readEach(ofCluster, (name) => cluster.get(CLUSTER_VMMRQS, { name })),
    isListed
      ? cluster.list(VMMRQS, { namespace }).then(({ items }) => items)
      : readEach(own, (name) => cluster.get(VMMRQS, { namespace, name })),
  ]);
  return [...wide, ...ofNamespace];
}

export async function readEach<T>(
  names: readonly string[],
  read: (name: string) => Promise<{ readonly object: T }>,
): Promise<T[]> {
  const found = await Promise.all([...new Set(names)].map((name) => ignoreNotFound(read(name))));
  return found.flatMap((each) => (each === undefined ? [] : [each.object]));
}

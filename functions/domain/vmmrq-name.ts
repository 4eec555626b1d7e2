import * as z from '../runtime/zod.ts';
import { dnsSubdomain } from './dns-name.ts';
import type { KubernetesObject, Vmmrq } from './objects.ts';

/** Prefix of the name of a cluster-wide VMMRQ. A VMMRQ's own name has no slash. */
const CLUSTER_WIDE = 'cvmmrq/';

/** A VMMRQ's name among those of its namespace: "migrations", or "cvmmrq/drains" for a cluster-wide one. */
export const vmmrqName = (vmmrq: Vmmrq): string =>
  isClusterWide(vmmrq) ? `${CLUSTER_WIDE}${vmmrq.metadata.name}` : vmmrq.metadata.name;

export const isClusterWide = ({ metadata }: KubernetesObject): boolean => metadata.namespace === undefined;

/** The name of the cluster-wide VMMRQ that such a name means; undefined: it means one of the namespace. */
export const clusterWideName = (name: string): string | undefined =>
  name.startsWith(CLUSTER_WIDE) ? name.slice(CLUSTER_WIDE.length) : undefined;

/** A VMMRQ's name, of either kind, as it arrives in an event. */
export const anyVmmrqName = z
  .string()
  .check(z.refine((name) => dnsSubdomain.safeParse(clusterWideName(name) ?? name).success));

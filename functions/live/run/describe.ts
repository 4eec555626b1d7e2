import type { KubernetesObject } from '../../domain/objects.ts';

/** Names an object in a message: namespace/name. */
export const describeName = ({ metadata }: KubernetesObject): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;

/** Names an object with its kind. */
export const describe = (object: KubernetesObject): string => `${object.kind ?? ''} ${describeName(object)}`;

/** Names the record of a run on a VM of the source, if it is left over. */
export const describeRecord = ({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}): string => `the record of VirtualMachine ${namespace}/${name}`;

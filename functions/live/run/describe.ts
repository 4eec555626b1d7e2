import type { KubernetesObject } from '../../domain/objects.ts';

/** An object in a message: namespace/name. */
export const describeName = ({ metadata }: KubernetesObject): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;

/** The same with its kind. */
export const describe = (object: KubernetesObject): string => `${object.kind ?? ''} ${describeName(object)}`;

/** The record of a run on a VM of the source, where it is left over. */
export const describeRecord = ({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}): string => `the record of VirtualMachine ${namespace}/${name}`;

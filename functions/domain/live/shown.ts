import type { KubernetesObject } from '../objects.ts';

/** An object in a message: namespace/name. */
export const shownName = ({ metadata }: KubernetesObject): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;

/** The same with its kind. */
export const shown = (object: KubernetesObject): string => `${object.kind ?? ''} ${shownName(object)}`;

import type { NamedReference } from './forklift.ts';

/**
 * Returns the reference without an empty namespace: `{ namespace, ...named(reference) }` is in this namespace unless the reference names
 * another one.
 */
export const named = ({
  namespace,
  name = '',
}: NamedReference): { readonly name: string; readonly namespace?: string } =>
  namespace ? { namespace, name } : { name };

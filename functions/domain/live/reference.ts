import type { NamedReference } from './forklift.ts';

/** Without an empty namespace: `{ namespace, ...named(reference) }` is in this namespace unless it names another one. */
export const named = ({
  namespace,
  name = '',
}: NamedReference): { readonly name: string; readonly namespace?: string } =>
  namespace ? { namespace, name } : { name };

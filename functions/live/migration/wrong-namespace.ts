import type { LiveWrite } from '../run/decision.ts';
import type { Plan } from '../../domain/live/forklift.ts';

/**
 * Returns the problem of a write that would make an object on the target outside the Plan's namespace; undefined if there is none. The
 * record says where a run goes on, and a user who may edit the VM may edit its record.
 */
export function wrongNamespace(
  writes: readonly LiveWrite[],
  { spec: { targetNamespace } }: Plan,
): string | undefined {
  for (const { verb, on, object } of writes) {
    // An object without a namespace is a Namespace.
    const { name, namespace = name } = object.metadata;
    if (verb === 'create' && on === 'target' && namespace !== targetNamespace)
      return (
        `the record of the VM names namespace ${namespace} of the target, and the Plan ${targetNamespace}: one of them was changed, ` +
        `so ${object.kind ?? ''} ${name} is not made`
      );
  }
  return undefined;
}

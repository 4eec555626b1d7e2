import type { ControlPlane } from '../cluster/controlplane/start.ts';
import type * as kept from './kept.ts';
import { importOutside } from './outside.ts';

/**
 * An empty control plane, for a test file that leaves its processes running. The worker keeps it for the next
 * file, and `stop` returns it to the worker. The users are those of kept.ts.
 */
export async function freshControlPlane(): Promise<ControlPlane> {
  const { borrowControlPlane } = await importOutside<typeof kept>(new URL('kept.ts', import.meta.url));
  return borrowControlPlane();
}

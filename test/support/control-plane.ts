import type { ControlPlane } from '../cluster/controlplane/start.ts';
import type * as kept from './kept.ts';
import { importOutside } from './outside.ts';

/**
 * A control plane with nothing on it, for a test file that leaves its processes running: the worker keeps it for the next
 * file. Its `stop` gives it back. The users are those of kept.ts.
 */
export async function freshControlPlane(): Promise<ControlPlane> {
  const { borrowControlPlane } = await importOutside<typeof kept>(new URL('kept.ts', import.meta.url));
  return borrowControlPlane();
}

import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { AdmissionMode } from '../../cluster/admission-modes.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import type * as kept from './kept.ts';
import { importOutside } from './outside.ts';

/**
 * An empty control plane, for a test file that leaves its processes running. The worker keeps it for the next
 * file, and `stop` returns it to the worker. The users are those of kept.ts.
 */
export const freshControlPlane = async (): Promise<ControlPlane> =>
  (await outside()).borrowControlPlane('nothing');

export interface InstalledControlPlane {
  readonly controlPlane: ControlPlane;
  /** What is installed on it, besides the KubeVirt stand-in. */
  readonly installed: readonly KubernetesObject[];
}

/** The same with the installation in this mode, which the worker keeps too. Nothing serves its webhooks yet. */
export async function installedControlPlane(mode: AdmissionMode): Promise<InstalledControlPlane> {
  const { borrowControlPlane, renderingOf } = await outside();
  const installed = JSON.parse(await renderingOf(mode)) as KubernetesObject[];
  return { controlPlane: await borrowControlPlane(mode), installed };
}

const outside = (): Promise<typeof kept> => importOutside(new URL('kept.ts', import.meta.url));

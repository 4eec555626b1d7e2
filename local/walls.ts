import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubernetesObject } from '../functions/domain/objects.ts';
import { render } from './controlplane/kustomize.ts';

/** Each way to install, and its overlay: what stands between a raised quota and everybody else. */
const OVERLAY = {
  /** The guard's webhooks, and behind a failure of theirs the API server's own policies. */
  both: 'config/default',
  webhook: 'config/webhook-only',
  policies: 'config/policy-only',
} as const;

export type Wall = keyof typeof OVERLAY;
export const WALLS = Object.keys(OVERLAY) as readonly Wall[];

const HERE = fileURLToPath(new URL('..', import.meta.url));

/** The rendered overlay: what is installed on a real cluster is what runs here. `tree`: of another checkout. */
export const renderWall = (wall: Wall, tree = HERE): Promise<KubernetesObject[]> =>
  render(join(tree, OVERLAY[wall]));

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubernetesObject } from '../functions/domain/objects.ts';
import { objectsOf, render } from './controlplane/kustomize.ts';
import { renderInstallation, type Component } from './manifests/overlay.ts';

/** Each way to install, and its overlay: what stands between a raised quota and everybody else. */
const OVERLAY = {
  /** The guard's webhooks, and behind a failure of theirs the API server's own policies. */
  both: 'default',
  webhook: 'webhook-only',
  policies: 'policy-only',
} as const;

export type Wall = keyof typeof OVERLAY;
export const WALLS = Object.keys(OVERLAY) as readonly Wall[];

const HERE = fileURLToPath(new URL('..', import.meta.url));

export interface Rendering {
  /** Of another checkout; left out: this one. */
  readonly tree?: string;
  /** Of config/components, only here; none when left out. */
  readonly components?: readonly Component[];
}

/** The rendered overlay: what is installed on a real cluster is what runs here. */
export const renderWall = async (
  wall: Wall,
  { tree = HERE, components = [] }: Rendering = {},
): Promise<KubernetesObject[]> =>
  components.length === 0
    ? render(join(tree, 'config', OVERLAY[wall]))
    : objectsOf(await renderInstallation({ overlay: OVERLAY[wall], components }));

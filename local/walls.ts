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

/** The rendered overlay: what is installed on a real cluster is what runs here. */
export const renderWall = async (
  wall: Wall,
  components: readonly Component[] = [],
): Promise<KubernetesObject[]> =>
  components.length === 0
    ? render(fileURLToPath(new URL(`../config/${OVERLAY[wall]}`, import.meta.url)))
    : objectsOf(await renderInstallation({ overlay: OVERLAY[wall], components }));

import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from './controlplane/kustomize.ts';
import { renderInstallation, type Component } from './overlay.ts';

/** Each admission mode and its overlay: the layers that protect a raised quota. */
const OVERLAY = {
  /** The API server's own policies first, then the guard's webhooks, which read live. */
  both: 'default',
  policy: 'policy-only',
} as const;

export type AdmissionMode = keyof typeof OVERLAY;
export const ADMISSION_MODES = Object.keys(OVERLAY) as readonly AdmissionMode[];

export interface Rendering {
  /** Folder of another checkout; left out: this one. */
  readonly tree?: string | undefined;
  /** Folders of config/components; default none. */
  readonly components?: readonly Component[] | undefined;
}

/** The same manifests as on a real cluster, except for the image. */
export async function renderAdmissionMode(
  admissionMode: AdmissionMode,
  { tree, components = [] }: Rendering = {},
): Promise<KubernetesObject[]> {
  return objectsOf(await renderInstallation({ overlay: OVERLAY[admissionMode], components, tree }));
}

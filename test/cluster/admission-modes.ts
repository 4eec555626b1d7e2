import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from './controlplane/kustomize.ts';
import { renderInstallation, type Component } from './overlay.ts';

/** Each way to install, and its overlay: what stands between a raised quota and everybody else. */
const OVERLAY = {
  /** The API server's own policies, and behind them the guard's webhooks, which read live. */
  both: 'default',
  policy: 'policy-only',
} as const;

export type AdmissionMode = keyof typeof OVERLAY;
export const ADMISSION_MODES = Object.keys(OVERLAY) as readonly AdmissionMode[];

export interface Rendering {
  /** Of another checkout; left out: this one. */
  readonly tree?: string | undefined;
  /** Of config/components; none when left out. */
  readonly components?: readonly Component[] | undefined;
}

/** What is installed on a real cluster is what runs here, but for the image. */
export async function renderAdmissionMode(
  admissionMode: AdmissionMode,
  { tree, components = [] }: Rendering = {},
): Promise<KubernetesObject[]> {
  return objectsOf(await renderInstallation({ overlay: OVERLAY[admissionMode], components, tree }));
}

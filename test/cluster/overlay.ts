import { readdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { temporaryFolder } from './controlplane/exit.ts';
import { renderText } from './controlplane/kustomize.ts';
import { PLACEHOLDER, type Image } from './image.ts';

const here = fileURLToPath(new URL('../..', import.meta.url));

/** The overlays of the admission modes (docs/security.md); all but the first are also components. */
export const OVERLAYS = ['default', 'policy-only'] as const;
export type Overlay = (typeof OVERLAYS)[number];

/** Components for each of them; the first two have functions, which the others also change. */
export const COMPONENTS = [
  'minimal',
  'live-migration',
  'cert-manager',
  'kafka-broker',
  'oidc',
  'openshift',
  'prometheus',
] as const;
export type Component = (typeof COMPONENTS)[number];

export interface Installation {
  readonly overlay: Overlay;
  readonly components: readonly Component[];
  /** Left out: the placeholder stays. */
  readonly image?: Image;
  /** Another checkout; left out: this one. */
  readonly tree?: string | undefined;
}

/**
 * The YAML of an overlay with components and image, by a kustomization as an administrator would
 * write. Rejects with kustomize's own message.
 */
export async function renderInstallation({
  overlay,
  components,
  image,
  tree = here,
}: Installation): Promise<string> {
  const folder = temporaryFolder('mtq-overlay-');
  const from = (path: string): string => relative(folder.path, join(tree, 'config', path));
  const admissionMode = overlay === 'default' ? [] : [overlay];
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [from('base')],
    components: [...admissionMode, ...COMPONENTS.filter((name) => components.includes(name))].map((name) =>
      from(`components/${name}`),
    ),
    labels: [{ pairs: { 'app.kubernetes.io/part-of': 'managed-tenant-quota' } }],
    images: image === undefined ? [] : [{ name: PLACEHOLDER, ...image }],
  };
  try {
    await writeFile(join(folder.path, 'kustomization.yaml'), stringify(kustomization));
    return await renderText(folder.path);
  } finally {
    folder.remove();
  }
}

/** The folders under config/components, for the test that OVERLAYS and COMPONENTS name them all. */
export const componentFolders = async (): Promise<string[]> =>
  (await readdir(join(here, 'config/components'))).toSorted();

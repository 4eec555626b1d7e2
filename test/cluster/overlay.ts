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

/** Components, in the order in which they are added; the first two have functions, which the others also change. */
export const COMPONENTS = [
  'minimal',
  'live-migration',
  'cert-manager',
  'kafka-broker',
  'oidc',
  'event-types',
  'openshift',
  'prometheus',
] as const;
export type Component = (typeof COMPONENTS)[number];

/** The components that go with an overlay. Live migration needs the guard's webhooks, and policy-only has none. */
export const componentsFor = (overlay: Overlay): Component[] =>
  COMPONENTS.filter((name) => overlay === 'default' || name !== 'live-migration');

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
 * write. Rejects for components that the overlay cannot have, else with kustomize's own message.
 */
export async function renderInstallation({
  overlay,
  components,
  image,
  tree = here,
}: Installation): Promise<string> {
  requireCompatible(overlay, components);
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

function requireCompatible(overlay: Overlay, components: readonly Component[]): void {
  const wrong = components.find((name) => !componentsFor(overlay).includes(name));
  if (wrong === undefined) return;
  const right = OVERLAYS.filter((name) => componentsFor(name).includes(wrong));
  throw new Error(`component ${wrong} does not go with overlay ${overlay}, only with ${right.join(' or ')}`);
}

/** The folders under config/components, for the test that OVERLAYS and COMPONENTS name them all. */
export const componentFolders = async (): Promise<string[]> =>
  (await readdir(join(here, 'config/components'))).toSorted();

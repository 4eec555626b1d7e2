import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { render } from '../local/controlplane/kustomize.ts';

const DEFAULT = fileURLToPath(new URL('../config/default', import.meta.url));

/** What config/ calls our image. */
const OURS = 'managed-tenant-quota';

export interface ImageAt {
  /** Registry and repository. */
  readonly repository: string;
  /** sha256:… */
  readonly digest: string;
}

/**
 * What `kubectl apply -k config/default` applies, as one file in `folder`, with the image by its digest. Rejects with
 * kustomize's own message.
 */
export async function writeManifests(folder: string, { repository, digest }: ImageAt): Promise<void> {
  const overlay = await mkdtemp(join(tmpdir(), 'mtq-release-overlay-'));
  try {
    const kustomization = {
      resources: [relative(overlay, DEFAULT)],
      images: [{ name: OURS, newName: repository, digest }],
    };
    await writeFile(join(overlay, 'kustomization.yaml'), stringify(kustomization));
    const documents = (await render(overlay)).map((object) => stringify(object, { lineWidth: 0 }));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${OURS}.yaml`), documents.join('---\n'));
  } finally {
    await rm(overlay, { recursive: true });
  }
}

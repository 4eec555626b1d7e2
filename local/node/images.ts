import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Layout } from '../../image/layout.ts';
import { PLATFORMS, type Platform } from '../../image/platforms.ts';
import { buildFromScratch } from '../../image/scratch.ts';
import { PLACEHOLDER, type Image } from '../manifests/image.ts';
import { pauseProgram } from './pause.ts';

const run = promisify(execFile);

/** An image in a file, and the name that it gets in containerd. */
export interface ImageFile {
  readonly file: string;
  readonly image: Image & { readonly newTag: string };
}

export interface Images {
  readonly ours: ImageFile;
  readonly pause: ImageFile;
}

/** A host that nobody has (RFC 6761): what is not there already cannot be pulled. */
const NOWHERE = 'image.test';
const TAG = 'test-node';

const PAUSE = 'pause';

/** Our image as `npm run image` builds it from scratch, and the pause image, for this machine's platform, in `folder`. */
export async function buildImages(folder: string): Promise<Images> {
  const platforms = PLATFORMS.filter(({ nodePackage }) => nodePackage === `node-linux-${process.arch}`);
  const [platform] = platforms;
  if (platform === undefined) throw new Error(`there is no image for ${process.arch}`);
  const { layout } = await buildFromScratch({
    out: join(folder, 'image'),
    version: TAG,
    epoch: 0,
    platforms,
  });
  return {
    ours: await pack(layout, PLACEHOLDER),
    pause: await pack(await pauseLayout(join(folder, PAUSE), platform), PAUSE),
  };
}

async function pauseLayout(folder: string, platform: Platform): Promise<string> {
  const layout = new Layout(folder, { version: TAG, epoch: 0 });
  const content = pauseProgram(platform);
  const layer = await layout.addLayer(PAUSE, [{ type: 'file', path: PAUSE, content, mode: 0o755 }]);
  const start = { Entrypoint: [`/${PAUSE}`], Cmd: [], WorkingDir: '/' };
  layout.finish([layout.addImage(platform, [layer], start)]);
  return layout.folder;
}

/** An OCI image layout as one file, as `ctr images import` takes it. */
async function pack(layout: string, name: string): Promise<ImageFile> {
  const file = `${layout}.tar`;
  await run('tar', ['-C', layout, '-cf', file, '.']);
  return { file, image: { newName: `${NOWHERE}/${name}`, newTag: TAG } };
}

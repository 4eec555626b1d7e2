/** npm run test:node: the image as real pods on a real kubelet (docs/image.md). */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { ensureBinaries } from '../controlplane/binaries/ensure.ts';
import { BINARIES, NODE_BINARIES } from '../controlplane/binaries/parts.ts';
import { reportProgress } from '../controlplane/binaries/report.ts';
import { isLeaving, temporaryFolder } from '../controlplane/exit.ts';
import { renderInstallation } from '../manifests/overlay.ts';
import { makeCgroup } from './cgroup.ts';
import { buildImages } from './images.ts';
import type { Handed } from './inside.ts';
import { runInside } from './namespaces.ts';
import { missing } from './requirements.ts';
import { thisMachine } from './this-machine.ts';

const say = (line: string): void => void process.stdout.write(`· ${line}\n`);

/** What needs the registries is done out here; in there is no network but its own. Resolves with the exit code. */
async function main(cniPlugins: string): Promise<number> {
  const binaries = await built();
  const folder = temporaryFolder('mtq-node-');
  try {
    say('building the image');
    const images = await buildImages(folder.path);
    const manifests = join(folder.path, 'manifests.yaml');
    const { image } = images.ours;
    writeFileSync(manifests, await renderInstallation({ overlay: 'default', components: [], image }));
    const memory = join(folder.path, 'memory');
    mkdirSync(memory);
    const cgroup = makeCgroup(basename(folder.path));
    const handed: Handed = { binaries, images, manifests, memory, cniPlugins, cgroup: cgroup.path };
    return await runInside({
      module: fileURLToPath(new URL('inside.ts', import.meta.url)),
      args: [JSON.stringify(handed)],
      env: process.env,
      afterwards: () => cgroup.remove(),
    });
  } finally {
    folder.remove();
  }
}

async function built(): Promise<Handed['binaries']> {
  const { hear, end } = reportProgress();
  try {
    return await ensureBinaries([...BINARIES, ...NODE_BINARIES], hear);
  } finally {
    end();
  }
}

const machine = thisMachine();
const lacking = missing(machine);
if (lacking.length > 0 || machine.cniPlugins === undefined) {
  process.stderr.write(
    `npm run test:node runs real pods, and cannot here:\n${lacking.map((line) => `  ${line}\n`).join('')}`,
  );
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await main(machine.cniPlugins);
  } catch (error) {
    if (!isLeaving()) {
      process.stderr.write(`${describeError(error)}\n`);
      process.exitCode = 1;
    }
  }
}

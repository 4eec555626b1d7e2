import { delimiter, join } from 'node:path';
import { isExecutable } from '../controlplane/binaries/find.ts';
import { CNI_PLUGINS, type Machine } from './requirements.ts';

/** Where Debian's package has them, and where everybody else's do. */
const CNI_FOLDERS = ['/usr/lib/cni', '/opt/cni/bin'];

/** The machine that we run on. */
export const thisMachine = (): Machine => ({
  platform: process.platform,
  arch: process.arch,
  uid: process.getuid?.(),
  which,
  cniPlugins: CNI_FOLDERS.find((folder) => CNI_PLUGINS.every((name) => isExecutable(join(folder, name)))),
});

/** As a shell finds it. */
function which(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

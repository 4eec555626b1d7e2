import type { Entry, FileEntry } from './archive.ts';
import { controlOf, filesOf, type DebianPackage } from './debian.ts';
import { librariesFor } from './libraries.ts';
import type { NodeFiles } from './node-binary.ts';

/** Who the processes are, by number: the kubelet sees only by a number that it is not root. "nonroot" to many images. */
export const USER = 65_532;

export const NODE_PATH = 'usr/bin/node';

const text = (path: string, content: string): FileEntry => ({
  type: 'file',
  path,
  content: Buffer.from(content),
});

const SYSTEM: readonly Entry[] = [
  text(
    'etc/passwd',
    `root:x:0:0:root:/:/sbin/nologin\nnonroot:x:${String(USER)}:${String(USER)}:nonroot:/:/sbin/nologin\n`,
  ),
  text('etc/group', `root:x:0:\nnonroot:x:${String(USER)}:\n`),
  // The kubelet's /etc/hosts counts before the cluster's DNS.
  text('etc/nsswitch.conf', 'hosts: files dns\n'),
  // Scanners look up the packages of status.d in this distribution's advisories.
  text('etc/os-release', 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'),
  { type: 'directory', path: 'tmp', mode: 0o1777 },
];

/**
 * Node and what it needs to run, nothing else: no shell, no package manager. No CA certificates either: Node brings its
 * own, and the cluster's are mounted. Throws MissingLibrary.
 */
export async function baseEntries(node: NodeFiles, packages: readonly DebianPackage[]): Promise<Entry[]> {
  const available: Entry[] = [];
  const papers: Entry[] = [];
  for (const { name, file } of packages) {
    const entries = await filesOf(file, (path) => isLibrary(path) || isLicense(path));
    available.push(...entries.filter(({ path }) => isLibrary(path)));
    papers.push(...entries.filter(({ path }) => isLicense(path)));
    papers.push(text(`var/lib/dpkg/status.d/${name}`, await controlOf(file)));
  }
  return [
    ...SYSTEM,
    { type: 'file', path: NODE_PATH, content: node.binary, mode: 0o755 },
    { type: 'file', path: 'usr/share/doc/node/LICENSE', content: node.license },
    ...librariesFor(node.binary, available),
    ...papers,
  ];
}

const isLibrary = (path: string): boolean => /^(usr\/)?lib(64)?\/([^/]+\/)?[^/]+\.so[.\d]*$/.test(path);

/** The file, or the link from one package's folder to that of another. */
const isLicense = (path: string): boolean => /^usr\/share\/doc\/[^/]+(\/copyright)?$/.test(path);

/** What of this machine a node needs. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** 0 is root; undefined where there are no such numbers. */
  readonly uid: number | undefined;
  /** Path of a program, undefined when there is none of this name. */
  readonly which: (program: string) => string | undefined;
  /** The folder with the CNI plugins, undefined when there is none with all that we use. */
  readonly cniPlugins: string | undefined;
}

/** What each program is for, by the Debian package that brings it. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  containerd: ['containerd', 'ctr', 'containerd-shim-runc-v2'],
  runc: ['runc'],
  iproute2: ['ip'],
  'util-linux': ['unshare', 'setpriv'],
  mount: ['mount'],
  tar: ['tar'],
};

export const CNI_PLUGINS = ['bridge', 'host-local', 'loopback'] as const;
const CNI_PACKAGE = 'containernetworking-plugins';

/** Why no node can run here, and what to do about it; empty when one can. */
export function missing({ platform, arch, uid, which, cniPlugins }: Machine): string[] {
  if (platform !== 'linux')
    return [`Pods run on Linux; this is ${platform}. Nothing helps but another machine.`];
  const lacking: string[] = [];
  if (!['x64', 'arm64'].includes(arch)) lacking.push(`The image is for x64 and arm64; this is ${arch}.`);
  if (uid !== 0) lacking.push('Only root may make containers: run it as root (sudo npm run test:node).');
  const absent = Object.entries(PROGRAMS)
    .map(([name, programs]) => ({ name, programs: programs.filter((each) => which(each) === undefined) }))
    .filter(({ programs }) => programs.length > 0);
  const packages = absent.map(({ name }) => name);
  const what = absent.flatMap(({ programs }) => programs);
  if (cniPlugins === undefined) {
    packages.push(CNI_PACKAGE);
    what.push(`the CNI plugins ${CNI_PLUGINS.join(', ')}`);
  }
  if (packages.length > 0)
    lacking.push(
      `Not installed: ${what.join(', ')}. On Debian: apt-get install --no-install-recommends ${packages.join(' ')}`,
    );
  return lacking;
}

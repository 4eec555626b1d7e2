import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Descriptor, ImageConfig, Index, Manifest } from '../../../image/layout.ts';
import { startChild, type Child } from '../../../local/controlplane/children.ts';

const run = promisify(execFile);

/** Where the kubelet mounts a service account's token. */
const ACCOUNT = 'var/run/secrets/kubernetes.io/serviceaccount';

export interface Unpacked {
  /** Its root file system. */
  readonly root: string;
  readonly config: ImageConfig;
}

/** A blob of a layout. Throws when it is not what its name says. */
export function readBlob(layout: string, { digest, size }: Descriptor): Buffer {
  const content = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
  const sum = createHash('sha256').update(content).digest('hex');
  if (digest !== `sha256:${sum}` || size !== content.length) throw new Error(`${digest} is something else`);
  return content;
}

const read = <T>(layout: string, descriptor: Descriptor): T =>
  JSON.parse(readBlob(layout, descriptor).toString('utf8')) as T;

/** The manifests of all platforms, the way a registry's client finds them. */
export function manifestsIn(layout: string): readonly Descriptor[] {
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as Index;
  return manifests.flatMap((descriptor) => read<Index>(layout, descriptor).manifests);
}

/** Unpacks the image of one platform into a folder as a container runtime does, layer upon layer. */
export async function unpack(layout: string, architecture: string, root: string): Promise<Unpacked> {
  const descriptor = manifestsIn(layout).find(({ platform }) => platform?.architecture === architecture);
  if (descriptor === undefined) throw new Error(`no image for ${architecture}`);
  const manifest = read<Manifest>(layout, descriptor);
  mkdirSync(root, { recursive: true });
  for (const layer of manifest.layers) {
    readBlob(layout, layer);
    const blob = join(layout, 'blobs', layer.digest.replace(':', '/'));
    await run('tar', ['--extract', '--gzip', '--same-permissions', '--numeric-owner', '--file', blob], {
      cwd: root,
    });
  }
  return { root, config: read<ImageConfig>(layout, manifest.config) };
}

export interface ContainerOptions extends Unpacked {
  readonly name: string;
  /** As in a pod: instead of the image's entrypoint and arguments. */
  readonly command?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Folder with token, ca.crt and namespace. */
  readonly account: string;
  /** Where its log goes. */
  readonly folder: string;
}

/**
 * Runs in the root file system as a pod that asks for readOnlyRootFilesystem: mounts of its own, nothing of this machine but
 * /proc, /dev and the network, as the image's user. Needs root, unshare and mount (util-linux).
 */
export function startContainer(options: ContainerOptions): Promise<Child> {
  const { name, root, config, account, folder } = options;
  const { User, Env, Entrypoint, Cmd, WorkingDir } = config.config;
  const [user = '', group = ''] = User.split(':');
  const command = options.command ?? Entrypoint;
  const args = options.args ?? (options.command === undefined ? Cmd : []);
  // A runtime makes the mount points too.
  for (const point of ['proc', 'dev', ACCOUNT]) mkdirSync(join(root, point), { recursive: true });
  const script = [
    'mount --bind "$1" "$1"',
    'mount -t proc proc "$1/proc"',
    'mount --rbind /dev "$1/dev"',
    `mount --bind "$2" "$1/${ACCOUNT}"`,
    'mount -o remount,bind,ro "$1"',
    'root=$1 wd=$3 user=$4 group=$5',
    'shift 5',
    'exec unshare --root "$root" --wd "$wd" --setuid "$user" --setgid "$group" -- "$@"',
  ].join(' && ');
  const inside = [root, account, WorkingDir, user, group, ...command, ...args];
  const env = Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  return startChild({
    name,
    command: 'unshare',
    args: ['--mount', 'sh', '-c', script, name, ...inside],
    logFile: join(folder, `${name}.log`),
    env: { ...env, ...options.env },
  });
}

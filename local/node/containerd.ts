import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startChild, type Child } from '../controlplane/children.ts';
import { textOf } from '../manifests/image.ts';
import type { ImageFile, Images } from './images.ts';
import { POD_NETWORK } from './private-machine.ts';

const run = promisify(execFile);

/** A containerd of its own. */
export interface Containerd {
  readonly child: Child;
  readonly socket: string;
  /** The id of the main process of each container that runs, by the container's id. */
  pids(): Promise<Map<string, number>>;
}

export interface ContainerdOptions {
  readonly folder: string;
  readonly cniPlugins: string;
  readonly images: Images;
}

/** Where the kubelet's containers and images are. */
const NAMESPACE = ['--namespace', 'k8s.io'];
const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** Starts containerd with nothing of the machine's own, and brings the images in. */
export async function startContainerd(options: ContainerdOptions): Promise<Containerd> {
  const { folder, images } = options;
  const socket = join(folder, 'containerd.sock');
  const config = join(folder, 'containerd.toml');
  mkdirSync(join(folder, 'cni'), { recursive: true });
  writeFileSync(join(folder, 'cni', 'pods.conflist'), JSON.stringify(podNetwork(folder)));
  writeFileSync(config, configuration(options, socket));
  const child = await startChild({
    name: 'containerd',
    command: 'containerd',
    args: ['--config', config],
    logFile: join(folder, 'containerd.log'),
  });
  const ctr = async (...args: string[]): Promise<string> =>
    (await run('ctr', ['--address', socket, ...NAMESPACE, ...args])).stdout;
  await untilAnswers(ctr, child);
  for (const image of [images.pause, images.ours]) await bringIn(ctr, image);
  return {
    child,
    socket,
    pids: async () => new Map(tasks(await ctr('tasks', 'list'))),
  };
}

type Ctr = (...args: string[]) => Promise<string>;

async function untilAnswers(ctr: Ctr, child: Child): Promise<void> {
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    try {
      await ctr('version');
      return;
    } catch (cause) {
      if (performance.now() > until)
        throw new Error(`containerd does not answer. The end of its log:\n${child.logTail()}`, { cause });
    }
    await delay(LOOK_EVERY_MS);
  }
}

async function bringIn(ctr: Ctr, { file, image }: ImageFile): Promise<void> {
  await ctr('images', 'import', '--base-name', image.newName, file);
  const there = await ctr('images', 'list', '--quiet');
  if (!there.split('\n').includes(textOf(image)))
    throw new Error(`${file} has no image ${textOf(image)}:\n${there}`);
}

/** Lines of "TASK PID STATUS". */
const tasks = (text: string): [string, number][] =>
  text.split('\n').flatMap((line) => {
    const [id = '', pid = '', status] = line.split(/\s+/);
    return status === 'RUNNING' ? [[id, Number(pid)]] : [];
  });

/** One bridge; a pod's way to everything else is the bridge's own address, which is the node's. */
const podNetwork = (folder: string): object => ({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'pods0',
      isDefaultGateway: true,
      ipam: { type: 'host-local', dataDir: join(folder, 'addresses'), ranges: [[{ subnet: POD_NETWORK }]] },
    },
  ],
});

function configuration({ folder, cniPlugins, images }: ContainerdOptions, socket: string): string {
  const text = (value: string): string => JSON.stringify(value);
  const at = (name: string): string => text(join(folder, name));
  return `
version = 2
root = ${at('root')}
state = ${at('state')}
[grpc]
  address = ${text(socket)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${at('opt')}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${text(textOf(images.pause.image))}
  # Where root may not make itself less likely to be killed for memory (in a sandbox), it must not try.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${text(cniPlugins)}
    conf_dir = ${at('cni')}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
}

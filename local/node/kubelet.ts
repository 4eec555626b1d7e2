import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type Child } from '../controlplane/children.ts';
import type { User } from '../controlplane/credentials.ts';
import { NODE_ADDRESS } from './private-machine.ts';

export const NODE = 'node';

/** As the API server's Node authorizer and its system roles know them. */
export const KUBELET: User = { name: `system:node:${NODE}`, groups: ['system:nodes'] };
export const SCHEDULER: User = { name: 'system:kube-scheduler', groups: [] };

export interface KubeletOptions {
  readonly binary: string;
  readonly folder: string;
  readonly kubeconfig: string;
  /** containerd's. */
  readonly socket: string;
  readonly cgroup: string;
}

/** The node. It registers itself. */
export async function startKubelet(options: KubeletOptions): Promise<Child> {
  const { binary, folder, kubeconfig } = options;
  const config = join(folder, 'kubelet.json');
  const resolvConf = join(folder, 'resolv.conf');
  // There is no DNS here: a name is not found at once, not after a time-out.
  writeFileSync(resolvConf, 'nameserver 127.0.0.1\n');
  writeFileSync(config, JSON.stringify(configuration(options, resolvConf)));
  return startChild({
    name: 'kubelet',
    command: binary,
    args: [
      `--config=${config}`,
      `--kubeconfig=${kubeconfig}`,
      `--root-dir=${join(folder, 'kubelet')}`,
      `--cert-dir=${join(folder, 'kubelet-certificates')}`,
      `--hostname-override=${NODE}`,
      `--node-ip=${NODE_ADDRESS}`,
    ],
    logFile: join(folder, 'kubelet.log'),
  });
}

const configuration = ({ folder, socket, cgroup }: KubeletOptions, resolvConf: string): object => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  containerRuntimeEndpoint: `unix://${socket}`,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: cgroup,
  // A machine may still have version 1.
  failCgroupV1: false,
  failSwapOn: false,
  resolvConf,
  podLogsDir: join(folder, 'pods'),
  readOnlyPort: 0,
  // It would need iptables, for a Service's NodePorts.
  makeIPTablesUtilChains: false,
  // However full the machine's disk is, these pods stay.
  evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
  imageGCHighThresholdPercent: 100,
});

/** Gives pods to the node. */
export const startScheduler = ({
  binary,
  folder,
  kubeconfig,
}: Pick<KubeletOptions, 'binary' | 'folder' | 'kubeconfig'>): Promise<Child> =>
  startChild({
    name: 'kube-scheduler',
    command: binary,
    args: [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0'],
    logFile: join(folder, 'kube-scheduler.log'),
  });

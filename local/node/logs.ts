import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const TAIL_LINES = 8;
const OWN = ['kubelet.log', 'containerd.log', 'kube-scheduler.log'];

/** The ends of the logs of a node and of its pods, for an error message. */
export function logsOf(folder: string): string {
  const pods = join(folder, 'pods');
  const ofPods = existsSync(pods)
    ? readdirSync(pods, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log'))
    : [];
  return [...OWN, ...ofPods.map((name) => join('pods', name))]
    .map((name) => `--- ${name}\n${tail(join(folder, name))}`)
    .join('\n');
}

const tail = (file: string): string =>
  existsSync(file)
    ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n')
    : '(no log)';

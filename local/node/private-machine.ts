import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The first address of the Services' range: the Service `kubernetes`, where every pod looks for the API server. */
const API_SERVER = '10.0.0.1';
/** The node's own. No address of a loopback network may be a node's. */
export const NODE_ADDRESS = '10.0.1.1';
/** The pods'. */
export const POD_NETWORK = '10.0.2.0/24';

/** Folders with a fixed place in which containerd, the CNI library and the kubelet write. */
const WRITTEN = ['/run', '/var/lib', '/var/log'];

/** What the kubelet sets for the whole machine. */
const TUNABLES = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

const run = (command: string, ...args: string[]): void => void execFileSync(command, args, { stdio: 'pipe' });

/**
 * Makes the namespaces that we are in (namespaces.ts) look like a machine for one node: what is written is in `memory`, a
 * folder of ours, and gone with us; the machine's own settings and files stay as they are.
 */
export function makePrivate(memory: string): void {
  run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'mtq-node', memory);
  for (const folder of WRITTEN) overlay(folder, join(memory, 'written', folder));
  for (const name of TUNABLES) {
    const real = join('/proc/sys', name);
    if (!existsSync(real)) continue;
    const copy = join(memory, name.replaceAll('/', '.'));
    // Not a copy of the file: those in /proc say that they are empty.
    writeFileSync(copy, readFileSync(real));
    run('mount', '--bind', copy, real);
  }
  run('ip', 'link', 'set', 'lo', 'up');
  // A packet to an address of the machine itself arrives, whichever interface has it. So no rule has to translate the
  // Service's address: the API server listens on it.
  for (const address of [API_SERVER, NODE_ADDRESS]) run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
}

/** What is there stays to be seen; what is written goes to `beside`. */
function overlay(folder: string, beside: string): void {
  const [upper, work] = [join(beside, 'upper'), join(beside, 'work')];
  for (const each of [upper, work]) mkdirSync(each, { recursive: true });
  run(
    'mount',
    '-t',
    'overlay',
    '-o',
    `lowerdir=${folder},upperdir=${upper},workdir=${work}`,
    'mtq-node',
    folder,
  );
}

/** The first process of namespaces.ts: a control plane with one real node, our pods on it, and what they are asked. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { objectsOf } from '../controlplane/kustomize.ts';
import { startNodeCluster, type NodeOptions } from './cluster.ts';
import { logsOf } from './logs.ts';
import { makePrivate } from './private-machine.ts';
import { runChecks } from './checks.ts';
import { tableOf } from './table.ts';

/** What main.ts hands over. */
export interface Handed extends Omit<NodeOptions, 'say' | 'folder'> {
  /** An empty folder. */
  readonly memory: string;
  /** A file with the rendered manifests. */
  readonly manifests: string;
}

const began = performance.now();
const say = (line: string): void =>
  void process.stdout.write(`· ${((performance.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);

async function main(handed: Handed): Promise<void> {
  // Read before: the folder is to be covered.
  const objects = objectsOf(readFileSync(handed.manifests, 'utf8'));
  makePrivate(handed.memory);
  const folder = nodeFolder(handed);
  // Unix sockets have short names, and everything temporary of this process is to go with it.
  process.env['TMPDIR'] = join(handed.memory, 'tmp');
  for (const each of [folder, process.env['TMPDIR']]) mkdirSync(each);
  const cluster = await startNodeCluster({ ...handed, folder, say });
  const rows = await Promise.race([runChecks({ cluster, objects, say }), cluster.broken]);
  process.stdout.write(`\n${tableOf(rows)}\n`);
}

/** Of the node's processes, and of its pods: their files and logs. */
const nodeFolder = ({ memory }: Handed): string => join(memory, 'node');

const handed = JSON.parse(process.argv[2] ?? '{}') as Handed;
try {
  await main(handed);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${logsOf(nodeFolder(handed))}\n\n${describeError(error)}\n`);
  process.exit(1);
}

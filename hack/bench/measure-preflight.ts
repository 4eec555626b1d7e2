import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { bundlePlugin } from '../build.ts';
import type { Figure, Measurements, MeasureOptions } from './figures.ts';
import { serveManyVms } from './many-vms.ts';

/** A module that prints at its end what the process used: Node's own count, memory at its peak. */
const REPORT =
  'data:text/javascript,process.on("exit",()=>process.stderr.write(JSON.stringify(process.resourceUsage())))';
const MS_PER_US = 1 / 1_000;
const MIB_PER_KB = 1 / 1_024;
const VMS_PER_NODE = 20;
/** Maximum duration and memory for 10,000 VMs on 500 nodes. */
const TARGET = { ms: 10_000, mebibytes: 250 };

interface Used {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mebibytes: number;
  readonly printed: string;
}

/** Measures the bundled plugin against lists of so many VMs, 20 on each node and in each namespace, by HTTPS as from an API server. */
export async function measurePreflight(
  vms: number,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  const count = Math.ceil(vms / VMS_PER_NODE);
  const server = await serveManyVms({ vms, nodes: count, namespaces: count });
  const folder = temporaryFolder('mtq-preflight-');
  try {
    const kubeconfig = join(folder.path, 'kubeconfig');
    await writeFile(kubeconfig, server.kubeconfig);
    const plugin = join(await bundlePlugin(join(folder.path, 'plugin')), 'kubectl-vmmrq');
    const figures: Figure[] = [];
    const nodes = Array.from({ length: Math.min(20, count) }, (_, index) => `node-${String(index)}`);
    for (const task of [['upgrade'], ['node', ...nodes]]) {
      const used: Used[] = [];
      for (let cycle = 0; cycle < cycles; cycle += 1) used.push(await run(plugin, kubeconfig, task));
      const group = `preflight ${task[0] ?? ''} of ${String(vms)} VMs on ${String(count)} nodes`;
      onProgress(`${group}: ${used.at(-1)?.printed ?? ''}`);
      figures.push(...figuresOf(group, used));
    }
    onProgress(`${String(Math.round(server.sent() / 2 ** 20))} MiB of lists were sent`);
    return { figures };
  } finally {
    await server.stop();
    folder.remove();
  }
}

const figuresOf = (group: string, used: readonly Used[]): Figure[] => [
  { group, name: 'from start to end', unit: 'ms', samples: used.map(({ ms }) => ms), target: TARGET.ms },
  { group, name: 'CPU time', unit: 'ms', samples: used.map(({ cpuMs }) => cpuMs) },
  {
    group,
    name: 'memory at its peak',
    unit: 'MiB',
    samples: used.map(({ mebibytes }) => mebibytes),
    target: TARGET.mebibytes,
  },
];

function run(plugin: string, kubeconfig: string, task: readonly string[]): Promise<Used> {
  const started = performance.now();
  const args = ['--import', REPORT, plugin, '--kubeconfig', kubeconfig, 'preflight', ...task, '-o', 'json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (texts.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (texts.stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      try {
        const usage = JSON.parse(texts.stderr) as NodeJS.ResourceUsage;
        const { counts } = JSON.parse(texts.stdout) as { counts: object };
        resolve({
          ms: performance.now() - started,
          cpuMs: (usage.userCPUTime + usage.systemCPUTime) * MS_PER_US,
          mebibytes: usage.maxRSS * MIB_PER_KB,
          printed: JSON.stringify(counts),
        });
      } catch (cause) {
        reject(new Error(`the plugin printed: ${texts.stderr.slice(0, 2_000)}`, { cause }));
      }
    });
  });
}

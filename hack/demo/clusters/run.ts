import { INSTANCETYPES } from '../../../functions/kubernetes/live-resources.ts';
import { getOrUndefined } from '../../../functions/live/read/get.ts';
import { LIVE_LABEL } from '../../../functions/domain/live/names.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../../test/cluster/kubevirt/objects/objects.ts';
import { serveAnything } from '../../../test/cluster/served.ts';
import { removeClaims } from '../../../test/support/live/claims.ts';
import { conditionsOf } from '../../../test/support/live/crossing.ts';
import { startInstalled, type Installed } from '../../../test/support/live/installed.ts';
import type { PairSide } from '../../../test/support/kubevirt/pair.ts';
import { coloursFor, type Out } from '../colours.ts';
import { STORIES, type Check, type Scene, type Story } from './stories.ts';
import { showChanges } from './watch.ts';

/**
 * Moves VMs between two clusters, by plans on the target, on which everything of the project is installed. Prints what the clusters
 * show, as it happens, and checks the result on their API servers. Resolves with whether every check holds.
 */
export async function runClustersDemo(out: Out): Promise<boolean> {
  const { dim } = coloursFor(out);
  out.write(dim('· starting two clusters, with a KubeVirt stand-in each\n'));
  const installed = await startInstalled({ hub: 'target' });
  try {
    for (const { admin } of Object.values(installed.clusters.members))
      await serveAnything(admin, INSTANCETYPES);
    for (const [index, story] of STORIES.entries()) {
      const checks = await runStory(story, { installed, out, number: index + 1 });
      if (checks.some(([, wrong]) => wrong !== undefined)) return false;
    }
    return true;
  } finally {
    await installed.stop();
  }
}

interface Telling {
  readonly installed: Installed;
  readonly out: Out;
  readonly number: number;
}

async function runStory(story: Story, { installed, out, number }: Telling): Promise<Check[]> {
  const { bold, dim, good, bad, accent } = coloursFor(out);
  out.write(`\n${bold(`${String(number)}  ${story.title}`)}\n   ${dim(story.about)}\n\n`);
  return installed.clusters.within(story.name, async (pair) => {
    await story.prepare?.(pair);
    const plans = `plans-${story.name}`;
    const move = await installed.readyMove(plans, pair, story.vm);
    const begun = performance.now();
    const say = (where: string, text: string): void => {
      const ms = String(Math.round(performance.now() - begun)).padStart(7);
      out.write(`${ms}  ${where.padEnd(6)}  ${text}\n`);
    };
    const note = (text: string): void => say('', accent(text));
    const ends = [
      showChanges({ hub: { admin: move.admin, namespace: plans }, ...pair }, say),
      removeClaims(pair.target),
    ];
    const scene: Scene = { pair, move, plans, note };
    try {
      await move.createMigration();
      await story.during?.(scene);
      await move.untilEnded();
    } finally {
      for (const end of ends) await end();
    }
    const checks = [...(await checkEnd(story, scene)), ...((await story.checks?.(scene)) ?? [])];
    out.write('\n');
    for (const [name, wrong] of checks)
      out.write(wrong === undefined ? `   ${good('✓')} ${name}\n` : `   ${bad('✗')} ${name}: ${wrong}\n`);
    return checks;
  });
}

async function checkEnd({ end }: Story, { move, pair }: Scene): Promise<Check[]> {
  const conditions = conditionsOf(await move.migration());
  const [stays, leaves] = end === 'Succeeded' ? [pair.target, pair.source] : [pair.source, pair.target];
  const labelSelector = LIVE_LABEL.migration;
  const vmims = await Promise.all(
    [pair.source, pair.target].map(({ admin, namespace }) =>
      admin.list(FULL_MIGRATIONS, { namespace, labelSelector }),
    ),
  );
  const left = vmims.flatMap(({ items }) => items).map(({ metadata }) => metadata.name);
  const { items: guests } = await leaves.admin.list(FULL_VMIS, { namespace: leaves.namespace });
  return [
    [`the Migration says ${end}`, conditions.includes(end) ? undefined : `it says ${conditions.join(', ')}`],
    [`the VM runs on the ${end === 'Succeeded' ? 'target' : 'source'}`, await notRunning(stays)],
    ['it runs nowhere else', guests.length === 0 ? undefined : 'there is a VMI'],
    ['no VMIM is left', left.length === 0 ? undefined : left.join(', ')],
  ];
}

async function notRunning({ admin, namespace }: PairSide): Promise<string | undefined> {
  const vm = await getOrUndefined(admin.get(VMS, { namespace, name: 'web' }));
  const { printableStatus } = vm?.status ?? {};
  return printableStatus === 'Running' ? undefined : `it is ${printableStatus ?? 'not there'}`;
}

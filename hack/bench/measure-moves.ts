import { SERVICE_ACCOUNT, userOf } from '../../functions/domain/names.ts';
import { LIVE_WATCHER } from '../../functions/kubernetes/live-resources.ts';
import { LIVE_USER, type PlannedMove } from '../../test/support/live/crossing.ts';
import { startInstalled, type Installed } from '../../test/support/live/installed.ts';
import { askUntil } from '../../test/support/eventually.ts';
import { CrossRun } from '../../test/support/kubevirt/cross-scenarios.ts';
import { exchangeTrust, type KubeVirtPair } from '../../test/support/kubevirt/pair.ts';
import type { Figure, Measurements, MeasureOptions } from './figures.ts';
import { userRequests } from './requests.ts';

/** Maximum that this project may add to KubeVirt's own duration of a move. */
const TARGET_MS = 1_000;
const HUB = [LIVE_USER, userOf(LIVE_WATCHER.at.name), userOf(SERVICE_ACCOUNT.guard)];

interface Move {
  /** Milliseconds from the Migration's creation to its end. */
  readonly ms: number;
  /** Runs of `live`. */
  readonly calls: number;
  readonly onHub: number;
  readonly onSource: number;
  readonly onTarget: number;
}

/**
 * Measures moves of a VM with one disk between two clusters by a plan on a third one, each beside a bare script that makes the same
 * objects as soon as KubeVirt is ready for them.
 */
export async function measureMoves({ cycles, onProgress }: MeasureOptions): Promise<Measurements> {
  onProgress('starting three clusters');
  const installed = await startInstalled();
  const moves: Move[] = [];
  const byScript: number[] = [];
  try {
    for (let index = 0; index <= cycles; index += 1) {
      const script = await installed.clusters.within(`script-${String(index)}`, moveByScript);
      const move = await installed.clusters.within(`move-${String(index)}`, (pair) =>
        moveByPlan(installed, pair, `plans-${String(index)}`),
      );
      // The first pair fills caches.
      if (index === 0) continue;
      byScript.push(script);
      moves.push(move);
      onProgress(
        `move ${String(index)} of ${String(cycles)}: ${JSON.stringify(move)}, by the script ${script.toFixed(0)} ms`,
      );
    }
  } finally {
    await installed.stop();
  }
  return { figures: figuresOf(moves, byScript) };
}

function figuresOf(moves: readonly Move[], byScript: readonly number[]): Figure[] {
  const group = 'one VM to another cluster, by a plan on a third one';
  const of = (name: keyof Move): number[] => moves.map((move) => move[name]);
  return [
    { group, name: 'Migration created → ended', unit: 'ms', samples: of('ms') },
    { group, name: 'the same by a bare script', unit: 'ms', samples: byScript },
    {
      group,
      name: 'added by us',
      unit: 'ms',
      samples: moves.map(({ ms }, index) => ms - (byScript[index] ?? NaN)),
      target: TARGET_MS,
    },
    { group, name: 'runs of live', unit: 'times', samples: of('calls') },
    { group, name: 'requests on the hub', unit: 'requests', samples: of('onHub') },
    { group, name: 'requests on the source', unit: 'requests', samples: of('onSource') },
    { group, name: 'requests on the target', unit: 'requests', samples: of('onTarget') },
  ];
}

/** Milliseconds, from the target VM's creation until the source VM is off. */
async function moveByScript(pair: KubeVirtPair): Promise<number> {
  const run = new CrossRun(pair);
  await exchangeTrust(pair);
  await run.begin();
  const begun = performance.now();
  await run.createReceiver();
  await run.receive();
  await run.untilReceiverIsBlocked();
  await run.send();
  await run.until('the source VM is off', () => {
    const isHalted = run.vm(pair.source)?.spec.runStrategy === 'Halted';
    return isHalted && run.vmi(pair.source) === undefined;
  });
  return performance.now() - begun;
}

async function moveByPlan(installed: Installed, pair: KubeVirtPair, namespace: string): Promise<Move> {
  const { environment, watcher } = installed;
  const { members } = installed.clusters;
  const move = await installed.readyMove(namespace, pair);
  const { broker } = environment.cluster.eventing;
  await broker.idle();
  const logs = [environment.cluster, members.source, members.target].map(
    ({ controlPlane }) => controlPlane.auditLog,
  );
  const users = [HUB, [LIVE_USER], [LIVE_USER]];
  const before = logs.map((log, index) => userRequests(log, users[index] ?? []));
  const hops = environment.hops.items.length;
  const begun = performance.now();
  await move.createMigration();
  await untilEnded(move);
  const ms = performance.now() - begun;
  await watcher.replicas.until('the watcher is scaled down', () => watcher.replicas.items.at(-1) === 0);
  await broker.idle();
  const [onHub = NaN, onSource = NaN, onTarget = NaN] = logs.map(
    (log, index) => userRequests(log, users[index] ?? []) - (before[index] ?? NaN),
  );
  const calls = environment.hops.items.slice(hops).filter(({ trigger }) => trigger === 'mtq-live').length;
  return { ms, calls, onHub, onSource, onTarget };
}

const untilEnded = (move: PlannedMove): Promise<unknown> =>
  askUntil(
    'it has ended',
    () => move.migration(),
    ({ status }) => status?.completed !== undefined,
  );

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
/** Maximum of our requests on all three clusters for one move. */
const TARGET_REQUESTS = 400;
/** Migrations that are created at once. */
const AT_ONCE = 10;
const HUB = [LIVE_USER, userOf(LIVE_WATCHER.at.name), userOf(SERVICE_ACCOUNT.guard)];

interface Moved {
  /** Milliseconds from the creation of the Migrations to their ends. */
  readonly ms: number;
  /** Runs of `live`. */
  readonly calls: number;
  readonly onHub: number;
  readonly onSource: number;
  readonly onTarget: number;
}

/**
 * Measures moves of a VM with one disk between two clusters by a plan on a third one, each beside a bare script that makes the same
 * objects as soon as KubeVirt is ready for them; then ten moves at once, each by a plan in a namespace of its own.
 */
export async function measureMoves({ cycles, onProgress }: MeasureOptions): Promise<Measurements> {
  onProgress('starting three clusters');
  const installed = await startInstalled();
  const moves: Moved[] = [];
  const byScript: number[] = [];
  let atOnce: Moved | undefined;
  try {
    for (let index = 0; index <= cycles; index += 1) {
      const script = await installed.clusters.within(`script-${String(index)}`, moveByScript);
      const move = await installed.clusters.within(`move-${String(index)}`, async (pair) =>
        measured(installed, [await installed.readyMove(`plans-${String(index)}`, pair)]),
      );
      // The first pair fills caches.
      if (index === 0) continue;
      byScript.push(script);
      moves.push(move);
      onProgress(
        `move ${String(index)} of ${String(cycles)}: ${JSON.stringify(move)}, by the script ${script.toFixed(0)} ms`,
      );
    }
    onProgress(`${String(AT_ONCE)} moves at once`);
    atOnce = await moveAtOnce(installed);
  } finally {
    await installed.stop();
  }
  return { figures: [...figuresOf(moves, byScript), ...figuresAtOnce(atOnce)] };
}

function figuresOf(moves: readonly Moved[], byScript: readonly number[]): Figure[] {
  const group = 'one VM to another cluster, by a plan on a third one';
  const of = (name: keyof Moved): number[] => moves.map((move) => move[name]);
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
    {
      group,
      name: 'requests on all three',
      unit: 'requests',
      samples: moves.map(requestsOf),
      target: TARGET_REQUESTS,
    },
  ];
}

function figuresAtOnce(moved: Moved): Figure[] {
  const group = `${String(AT_ONCE)} VMs at once, each by a plan of its own`;
  return [
    { group, name: 'Migrations created → all ended', unit: 'ms', samples: [moved.ms] },
    {
      group,
      name: 'requests on all three, of each',
      unit: 'requests',
      samples: [requestsOf(moved) / AT_ONCE],
      target: TARGET_REQUESTS,
    },
  ];
}

const requestsOf = ({ onHub, onSource, onTarget }: Moved): number => onHub + onSource + onTarget;

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

/** Moves one VM of each pair of namespaces at once: the names of VMs, Plans and Migrations are equal. */
async function moveAtOnce(installed: Installed): Promise<Moved> {
  const ready: PlannedMove[] = [];
  const within = (index: number): Promise<Moved> =>
    index === AT_ONCE
      ? measured(installed, ready)
      : installed.clusters.within(`at-once-${String(index)}`, async (pair) => {
          ready.push(await installed.readyMove(`plans-at-once-${String(index)}`, pair));
          return within(index + 1);
        });
  return within(0);
}

async function measured(installed: Installed, moves: readonly PlannedMove[]): Promise<Moved> {
  const { environment, watcher } = installed;
  const { members } = installed.clusters;
  const { broker } = environment.cluster.eventing;
  await broker.idle();
  const logs = [environment.cluster, members.source, members.target].map(
    ({ controlPlane }) => controlPlane.auditLog,
  );
  const users = [HUB, [LIVE_USER], [LIVE_USER]];
  const before = logs.map((log, index) => userRequests(log, users[index] ?? []));
  const hops = environment.hops.items.length;
  const begun = performance.now();
  await Promise.all(moves.map((move) => move.createMigration()));
  await Promise.all(moves.map(untilEnded));
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

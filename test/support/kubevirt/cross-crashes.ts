import { ignoreNotFound, isConflict } from '../../../functions/kubernetes/errors.ts';
import { UNPAUSED } from '../../cluster/kubevirt/objects/names.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  newMigration,
  VMS,
} from '../../cluster/kubevirt/objects/objects.ts';
import type { Vm } from '../../cluster/kubevirt/objects/types.ts';
import { KEEPING_FINALIZER } from './cross-differences.ts';
import type { CrossRun, CrossScenario } from './cross-scenarios.ts';
import type { PairSide } from './pair.ts';

/*
 * What the recorder's script did in the recordings of 2026-11-29, which ask what becomes of a crash at each point, of an edit, and of a
 * synchronization controller that has lost its lease.
 */

const NAME = 'vm0';
const SYNCHRONIZATION_FINALIZER = 'synchronization.kubevirt.io/migrationFinalizer';

const isUp = ({ status = {} }: Partial<Vm> = {}): boolean =>
  status.printableStatus === 'Running' && status.ready === true;

/** The launchers that run end as Failed. */
async function crash(run: CrossRun, side: PairSide): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }];
  const merge = { status: { phase: 'Failed', conditions } };
  for (const { metadata, status } of run.pods(side)) {
    if (status?.phase !== 'Running') continue;
    const at = { namespace: side.namespace, name: metadata.name };
    await side.admin.patch(LAUNCHER_PODS, at, { merge, subresource: 'status' });
  }
}

/** Until KubeVirt has started the VM again by itself. */
async function crashAndRunAgain(run: CrossRun, side: PairSide): Promise<void> {
  const before = run.vmi(side)?.metadata.uid;
  await crash(run, side);
  await run.until('the VM runs again', () => run.vmi(side)?.metadata.uid !== before && isUp(run.vm(side)));
}

/** Keeps the VMI until the work is done: KubeVirt deletes it meanwhile. */
async function keepingVmi({ admin, namespace }: PairSide, work: () => Promise<void>): Promise<void> {
  const at = { namespace, name: NAME };
  const keep = async (isKept: boolean): Promise<void> => {
    const { finalizers = [], resourceVersion } = (await admin.get(FULL_VMIS, at)).object.metadata;
    const others = finalizers.filter((name) => name !== KEEPING_FINALIZER);
    const merge = {
      metadata: { finalizers: isKept ? [...others, KEEPING_FINALIZER] : others, resourceVersion },
    };
    await admin.patch(FULL_VMIS, at, { merge }).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
      return keep(isKept);
    });
  };
  await keep(true);
  await work();
  await keep(false);
}

/** The same, where virt-handler ends the migration in the VMI before that is gone, so that KubeVirt removes the VMIM. */
async function crashKept(run: CrossRun, side: PairSide): Promise<void> {
  const before = run.vmi(side)?.metadata.uid;
  await keepingVmi(side, async () => {
    await crash(run, side);
    await run.untilFailed(side, 'send');
    // KubeVirt frees a VMIM only while a VMI names it.
    await run.until('the VMIM is free', () => run.migration(side, 'send')?.metadata.finalizers === undefined);
    await run.until('only this keeps the VMI', () => (run.vmi(side)?.metadata.finalizers ?? []).length < 3);
  });
  await run.until('the VM runs again', () => run.vmi(side)?.metadata.uid !== before && isUp(run.vm(side)));
  await removeMigrations(run, side, ['send']);
}

const untilDown = (run: CrossRun, side: PairSide): Promise<void> =>
  run.until('the VM is Halted and down', () => {
    const { spec, status } = run.vm(side) ?? {};
    const isStopped = status?.printableStatus === 'Stopped' && status.created !== true;
    return spec?.runStrategy === 'Halted' && isStopped && run.vmi(side) === undefined;
  });

const untilGoneBy = (run: CrossRun, side: PairSide): Promise<void> =>
  run.until('no VMIM is left', () => !run.hasMigrations(side));

/** KubeVirt deletes a VMIM when it sees its VMI gone; it may not see that before the next VMI is there. */
async function removeMigrations(run: CrossRun, side: PairSide, names = ['receive', 'local']): Promise<void> {
  for (const name of names)
    if (run.migration(side, name) !== undefined) await ignoreNotFound(run.deleteMigration(side, name));
  await untilGoneBy(run, side);
}

/** `virtctl migrate`, until its guest runs on the other node. */
async function migrateLocally(run: CrossRun, side: PairSide): Promise<void> {
  const { admin, namespace } = side;
  await admin.create(FULL_MIGRATIONS, newMigration({ namespace, name: 'local', vmi: NAME }));
  await run.until('it has migrated within its cluster', () => {
    const { metadata, status } = run.migration(side, 'local') ?? {};
    const launchers = run.pods(side).map((pod) => pod.status);
    const isOver = status?.phase === 'Succeeded' && metadata?.finalizers === undefined;
    const hasLeft = launchers.some((launcher) => launcher?.phase === 'Succeeded');
    const isReported = launchers
      .filter((launcher) => launcher?.phase === 'Running')
      .every((launcher) => launcher?.conditions?.some(({ type }) => type === UNPAUSED));
    return isOver && hasLeft && isReported && isUp(run.vm(side));
  });
}

const edit = (side: PairSide, merge: Record<string, unknown>): Promise<unknown> =>
  side.admin.patch(VMS, { namespace: side.namespace, name: NAME }, { merge });

async function arriveAndEnd(run: CrossRun): Promise<void> {
  await run.arrive(() => run.start());
  await run.untilMoved();
}

/** The guest has arrived, and the target's synchronization controller neither tells the source nor frees the VMIM. */
const untilUnheard = (run: CrossRun): Promise<void> =>
  run.until('the guest has arrived', () => {
    const { target } = run.pair;
    const { metadata, status } = run.migration(target, 'receive') ?? {};
    const isHeld = metadata?.finalizers?.join() === SYNCHRONIZATION_FINALIZER;
    return status?.phase === 'Succeeded' && isHeld && isUp(run.vm(target));
  });

/** The copy ends while the target's synchronization controller has lost its lease. */
async function arriveUnheard(run: CrossRun): Promise<void> {
  const { source, target } = run.pair;
  await run.onTheWay(() => target.stopSynchronization());
  await untilUnheard(run);
  await run.until('the source does not hear of it', () => run.isOutOfTouch(source, 'send'));
}

/** By the name of the recording without `cross-`. */
export const CRASH_SCENARIOS: Readonly<Record<string, CrossScenario>> = {
  'rerunonfailure-source-fails': async (run) => {
    const { source, target } = run.pair;
    await run.hold('break-receiver', async () => {
      // In this recording KubeVirt deletes the VMI before virt-handler has ended the migration in it.
      await run.hold('mark-lost', async () => {
        await run.hold('transfer', async () => {
          await run.start({ runStrategy: 'RerunOnFailure' }, undefined, 'RerunOnFailure');
          await run.untilRunning();
          await crashAndRunAgain(run, source);
        });
        await run.until('the source VMIM is stuck', () => {
          const { metadata, status } = run.migration(source, 'send') ?? {};
          return status?.phase === 'Failed' && metadata?.finalizers?.join() === SYNCHRONIZATION_FINALIZER;
        });
      });
    });
    await run.untilFailed(target, 'receive');
    await run.until('the target waits again', () => {
      const { labels = {} } = run.vmi(target)?.metadata ?? {};
      const isCleared = labels['kubevirt.io/migrationTargetNodeName'] === undefined;
      return isCleared && run.vm(target)?.status?.printableStatus === 'WaitingForReceiver';
    });
    // "the target VMIM is deleted", "the source VMIM is deleted"
    await run.deleteMigration(target, 'receive');
    await run.untilGone(target, 'receive');
    await run.deleteMigration(source, 'send');
    // "an annotation of the new source VMI is changed, which wakes the controllers"
    const merge = { metadata: { annotations: { 'rig/touched': '1' } } };
    await source.admin.patch(FULL_VMIS, { namespace: source.namespace, name: NAME }, { merge });
    // "the source synchronization controller is restarted"
    await source.restartSynchronization();
    // "the finalizer … is taken away by hand"
    await run.free(source, 'send');
    await run.untilGone(source, 'send');
  },
  'target-fails-after-arrival': async (run) => {
    const { target } = run.pair;
    await arriveAndEnd(run);
    await crash(run, target);
    await untilDown(run, target);
    await untilGoneBy(run, target);
  },
  'rerunonfailure-target-away': async (run) => {
    const { source, target } = run.pair;
    // "the guest is active on the target; the target API server goes away": nothing of the target is seen or written.
    await run.hold('complete', async () => {
      await run.hold('leave', async () => {
        await run.hold('transfer', async () => {
          await run.start({ runStrategy: 'RerunOnFailure' }, undefined, 'RerunOnFailure');
          await run.untilRunning();
        });
        await run.until('both know that the guest is active', () =>
          [source, target].every(
            (side) => run.vmi(side)?.status?.migrationState?.targetNodeDomainReadyTimestamp !== undefined,
          ),
        );
        await target.stopSynchronization();
        // "the source launcher ends as Failed"
        await crashKept(run, source);
      });
    });
    // "the target API server is back"
    await untilUnheard(run);
    // "the target synchronization controller, which has lost its lease, is restarted"
    await target.restartSynchronization();
    await run.until('the target hears of nobody', () => run.isOutOfTouch(target, 'receive'));
    // "the source VM is set to Halted by hand"
    await edit(source, { spec: { runStrategy: 'Halted' } });
    await untilDown(run, source);
  },
  'next-crash-on-target': async (run) => {
    const { target } = run.pair;
    await arriveAndEnd(run);
    await run.deleteMigration(target, 'receive');
    await run.untilGone(target, 'receive');
    // "days later the target launcher crashes"
    await crash(run, target);
    await untilDown(run, target);
    // "a user starts the VM again (runStrategy Always)"
    await edit(target, { spec: { runStrategy: 'Always' } });
    await run.until('the VM runs again', () => isUp(run.vm(target)));
    await migrateLocally(run, target);
    await crashAndRunAgain(run, target);
    await removeMigrations(run, target);
  },
  'next-crash-after-local-migration': async (run) => {
    const { target } = run.pair;
    await arriveAndEnd(run);
    await migrateLocally(run, target);
    await crashAndRunAgain(run, target);
    await removeMigrations(run, target);
  },
  'sides-cleared-next-crash': async (run) => {
    const { target, transfers } = run.pair;
    transfers.keepsSides = false;
    // KubeVirt finds the VMIM by these sides: in the recording its finalizer went 13 ms before they did.
    await run.hold('clear-receiver', async () => {
      await run.hold('leave', async () => {
        await run.hold('transfer', async () => {
          await run.start();
          await run.untilRunning();
        });
        await run.untilFree('send');
        await run.until('the target VMIM is free', () => {
          const { metadata, status } = run.migration(target, 'receive') ?? {};
          return status?.phase === 'Succeeded' && metadata?.finalizers === undefined;
        });
      });
    });
    await run.untilArrived();
    await run.untilMoved();
    await crashAndRunAgain(run, target);
    await removeMigrations(run, target);
    transfers.keepsSides = true;
  },
  'source-edited': async (run) => {
    const { source, target } = run.pair;
    const isChanged = (): boolean =>
      run.vm(source)?.status?.conditions?.some(({ type }) => type === 'RestartRequired') === true;
    await run.hold('leave', async () => {
      await run.hold('complete', async () => {
        await run.onTheWay(async () => {
          await edit(source, { spec: { template: { spec: { domain: { memory: { guest: '2Gi' } } } } } });
          const { template } = run.vm(source)?.spec ?? {};
          const { volumes = [] } = template?.spec ?? {};
          const scratch = { name: 'scratch', emptyDisk: { capacity: '1Gi' } };
          await edit(source, { spec: { template: { spec: { volumes: [...volumes, scratch] } } } });
          await run.until('KubeVirt sees the disk', isChanged);
          await edit(source, { metadata: { labels: { edited: 'yes' } } });
        });
        await run.until('both know that the guest is active', () =>
          [source, target].every(
            (side) => run.vmi(side)?.status?.migrationState?.targetNodeDomainReadyTimestamp !== undefined,
          ),
        );
        await edit(source, { spec: { template: { metadata: { labels: { edited: 'yes' } } } } });
      });
      await run.untilReceived();
    });
    await run.untilMoved();
  },
  'sync-controller-loses-lease': async (run) => {
    const { target } = run.pair;
    await arriveUnheard(run);
    // "the target synchronization controller is restarted (in production: its second replica leads)"
    await target.restartSynchronization();
    await run.untilArrived();
    await run.untilGoneOrKept('send');
    await run.untilMoved();
  },
  'sync-controller-loses-lease-vmim-deleted': async (run) => {
    const { target } = run.pair;
    await arriveUnheard(run);
    await run.deleteMigration(target, 'receive');
    await target.restartSynchronization();
    await run.untilGone(target, 'receive');
  },
};

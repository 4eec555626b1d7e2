import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FULL_MIGRATIONS } from '../../cluster/kubevirt/objects/objects.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { WRITTEN_BY_SEVERAL } from '../../support/kubevirt/differences.ts';
import { readHistory, recordHistory, type Recording, type Version } from '../../support/kubevirt/history.ts';
import {
  lastVersionsOf,
  normalise,
  timelinesOf,
  versionsOf,
  type Fields,
  type Normalised,
} from '../../support/kubevirt/normalise.ts';
import {
  createNamespace,
  createQuota,
  migrate,
  runVmi,
  startHarness,
  type Harness,
} from '../../support/kubevirt/harness.ts';

const TIGHT = { pods: '10', 'requests.cpu': '1405m', 'requests.memory': '2041974464' };
const RAISED = { 'requests.cpu': '2605m', 'requests.memory': '3614838784' };
const WITH_LIMITS = { ...TIGHT, 'limits.cpu': '1500m', 'limits.memory': '3Gi' };

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(async () => {
  await harness.stop();
});

/** Number of refusals of the target pod in the second before the recordings' change. */
const REFUSALS = 8;

/** The recorded start: a quota for one VM, the VM, a migration. After as many refusals as recorded, `act` changes something. */
async function reproduce(
  name: string,
  hard: Record<string, string>,
  act: (namespace: string, recording: Recording) => Promise<void>,
): Promise<Version[]> {
  const namespace = `tenant-${name}`;
  await createNamespace(harness.admin, namespace);
  const recording = await recordHistory(harness.admin, namespace);
  await createQuota(harness.admin, namespace, hard);
  await runVmi(harness.admin, { namespace, name: 'vm0', labels: { rig: 'vm' } });
  // In all recordings this is the quota's last version before the migration.
  await recording.until(isNamedInterface);
  await migrate(harness.admin, { namespace, name: 'mig0', vmi: 'vm0' });
  // As many refusals as in the recordings' second; the next one would come 640 ms later.
  await recording.until(() => refusalTimes(recording.versions).length >= REFUSALS);
  await act(namespace, recording);
  await recording.stop();
  return [...recording.versions];
}

/** Raises the quota by hand, and restores it once the target pod runs. */
const raiseAndRestore =
  (before: Record<string, string>, raised: Record<string, string>) =>
  async (namespace: string, recording: Recording): Promise<void> => {
    const set = async (hard: Record<string, string>): Promise<void> => {
      await harness.admin.patch(RESOURCE_QUOTAS, { namespace, name: 'quota' }, { merge: { spec: { hard } } });
    };
    await set({ ...before, ...raised });
    await recording.until(isRunningTarget);
    await set(before);
    await recording.until(isVersioned);
    await recording.until(isSecondSuccess);
    await recording.until((version) => isReturned(version, recording.versions));
    await recording.until(isFinishedTarget);
  };

const cancel = async (namespace: string, recording: Recording): Promise<void> => {
  await harness.admin.delete(FULL_MIGRATIONS, { namespace, name: 'mig0' });
  await recording.until(isGone);
  await recording.until(isFailure);
};

const waitForAggregation = async (_: string, recording: Recording): Promise<void> => {
  await recording.until(isCombined);
};

const SCENARIOS = {
  'blocked-then-released': () => reproduce('blocked-then-released', TIGHT, raiseAndRestore(TIGHT, RAISED)),
  limits: () =>
    reproduce(
      'limits',
      WITH_LIMITS,
      raiseAndRestore(WITH_LIMITS, { ...RAISED, 'limits.cpu': '3', 'limits.memory': '7Gi' }),
    ),
  'cancelled-while-blocked': () => reproduce('cancelled-while-blocked', TIGHT, cancel),
  'stays-blocked': () => reproduce('stays-blocked', TIGHT, waitForAggregation),
};

describe.each(Object.entries(SCENARIOS))('%s', (name, scenario) => {
  let recorded: Version[];
  let reproduced: Version[];
  let want: Normalised[];
  let got: Normalised[];

  beforeAll(async () => {
    recorded = await readHistory(`history-${name}`);
    reproduced = await scenario();
    want = normalise(recorded);
    got = normalise(reproduced);
  });

  test('the migration: every version', () => {
    expect(versionsOf(MIGRATION, got)).toEqual(versionsOf(MIGRATION, want));
  });

  test('the quota: every version', () => {
    expect(versionsOf('ResourceQuota', got)).toEqual(versionsOf('ResourceQuota', want));
  });

  test('the VMI: every version since the migration was created', () => {
    expect(versionsOf(VMI, sinceMigration(got))).toEqual(versionsOf(VMI, sinceMigration(want)));
  });

  test('the pods as they were created', () => {
    const created = (history: Normalised[]): unknown =>
      versionsOf('Pod', history).filter(({ watch }) => watch === 'ADDED');
    expect(created(got)).toEqual(created(want));
  });

  test.each(WRITTEN_BY_SEVERAL)('%s: the values of each field in order, and the last version', (kind) => {
    expect(timelinesOf(kind, got)).toEqual(timelinesOf(kind, want));
    expect(lastVersionsOf(kind, got)).toEqual(lastVersionsOf(kind, want));
  });

  test('the events, except the refusals', () => {
    const others = (history: Normalised[]): unknown =>
      versionsOf('Event', history)
        .filter(({ fields }) => fields['reason'] !== 'FailedCreate')
        .sort((one, other) => one.name.localeCompare(other.name));
    expect(others(got)).toEqual(others(want));
  });

  test('the refusals: their text and form, alone and combined', () => {
    const { alone, combined } = refusalsIn(want);
    const mine = refusalsIn(got);
    expect(mine.alone).toEqual(alone);
    // The raise and the restore of the quota cause retries, so the tenth refusal may be missing.
    if (name === 'stays-blocked') expect(mine.combined).toEqual(combined);
  });

  test('the refusals: their back-off doubles from 5 ms', () => {
    expect(backoffIn(recorded)).toBeGreaterThanOrEqual(1);
    expect(backoffIn(reproduced)).toBeGreaterThanOrEqual(1);
  });

  test('the condition follows a refusal, and status.used rises before a pod is visible', () => {
    for (const history of [recorded, reproduced]) {
      const refused = Math.floor((refusalTimes(history)[0] ?? Infinity) / 1000);
      expect(rejectedAt(history)).toBeGreaterThanOrEqual(refused);
      expect(usedBeforeEachPod(history)).toEqual(createdPods(history).map((_, index) => String(index + 1)));
    }
  });
});

const MIGRATION = 'VirtualMachineInstanceMigration';
const VMI = 'VirtualMachineInstance';

/** The fields that the tests read from the objects. */
interface Seen {
  metadata: { name: string; resourceVersion: string; labels?: Record<string, string>; finalizers?: string[] };
  spec?: { nodeName?: string };
  reason?: string;
  message?: string;
  count?: number;
  status?: {
    phase?: string;
    used?: Record<string, string>;
    interfaces?: { podInterfaceName?: string }[];
    conditions?: { type: string; lastProbeTime?: string }[];
  };
}

const seen = ({ object }: Version): Seen => object;

const isNamedInterface = (version: Version): boolean =>
  version.kind === VMI &&
  seen(version).status?.phase === 'Running' &&
  seen(version).status?.interfaces?.[0]?.podInterfaceName !== undefined;

const isRunningTarget = (version: Version): boolean =>
  version.kind === 'Pod' &&
  seen(version).metadata.labels?.['kubevirt.io/migrationJobUID'] !== undefined &&
  seen(version).status?.phase === 'Running';

/** The guest has arrived: the target is labelled with its own node and is not paused. */
const isFinishedTarget = (version: Version): boolean =>
  isRunningTarget(version) &&
  seen(version).metadata.labels?.['kubevirt.io/nodeName'] === seen(version).spec?.nodeName &&
  seen(version).status?.conditions?.some(({ type }) => type === 'kubevirt.io/virtual-machine-unpaused') ===
    true;

const isVersioned = (version: Version): boolean =>
  version.kind === MIGRATION &&
  seen(version).status?.phase === 'Succeeded' &&
  seen(version).metadata.finalizers === undefined;

/** The quota no longer counts the target: status.used falls from two pods to one. */
function isReturned(version: Version, history: readonly Version[]): boolean {
  const used = (one: Version): string | undefined => seen(one).status?.used?.['pods'];
  const wasTwo = history.slice(0, history.indexOf(version)).some((one) => used(one) === '2');
  return version.kind === 'ResourceQuota' && used(version) === '1' && wasTwo;
}

const isSecondSuccess = (version: Version): boolean =>
  seen(version).reason === 'SuccessfulMigration' && seen(version).count === 2;

const isGone = ({ kind, watch }: Version): boolean => kind === MIGRATION && watch === 'DELETED';

const isFailure = (version: Version): boolean => seen(version).reason === 'FailedMigration';

const isCombined = (version: Version): boolean => seen(version).message?.startsWith('(combined') === true;

/** Sorts by version number, because the watches of different kinds are not synchronized. */
function sinceMigration(history: readonly Normalised[]): Normalised[] {
  const created =
    history.find(({ kind, watch }) => kind === MIGRATION && watch === 'ADDED')?.resourceVersion ?? 0n;
  return history.filter(({ resourceVersion }) => resourceVersion > created);
}

/** Each different refusal once. */
function refusalsIn(history: readonly Normalised[]): { alone: unknown[]; combined: unknown[] } {
  const refusals = versionsOf('Event', history).filter(({ fields }) => fields['reason'] === 'FailedCreate');
  const different = [...new Map(refusals.map((one) => [JSON.stringify(one.fields), one])).values()];
  const isOne = ({ fields }: { fields: Fields }): boolean =>
    String(fields['message']).startsWith('(combined');
  return {
    alone: different.filter((one) => !isOne(one)),
    combined: different.filter((one) => isOne(one) && one.watch === 'ADDED'),
  };
}

/** Times of the refused creations, milliseconds. Event names contain the time in nanoseconds. */
const refusalTimes = (history: readonly Version[]): number[] =>
  history
    .filter((version) => version.watch === 'ADDED' && seen(version).reason === 'FailedCreate')
    .map((version) => Number(BigInt(`0x${seen(version).metadata.name.split('.')[1] ?? '0'}`) / 1000n) / 1000)
    .sort((one, other) => one - other);

/**
 * The smallest ratio of the pauses after the fifth, sixth and seventh refusal to the rate limiter's delays (80, 160, 320 ms).
 * Earlier pauses do not count, because the writes around the first attempt cause attempts too.
 */
function backoffIn(history: readonly Version[]): number {
  const times = refusalTimes(history);
  const pauses = times.slice(5, 8).map((time, index) => time - (times[index + 4] ?? 0));
  expect(pauses).toHaveLength(3);
  // Allows one millisecond for clock differences.
  return Math.min(...pauses.map((pause, index) => (pause + 1) / (80 * 2 ** index)));
}

/** Whole seconds since 1970. */
function rejectedAt(history: readonly Version[]): number {
  const conditions = history.flatMap((version) => seen(version).status?.conditions ?? []);
  const rejected = conditions.find(({ type }) => type === 'migrationRejectedByResourceQuota');
  return Date.parse(rejected?.lastProbeTime ?? '') / 1000;
}

const createdPods = (history: readonly Version[]): Version[] =>
  history.filter(({ kind, watch }) => kind === 'Pod' && watch === 'ADDED');

const orderOf = (version: Version): bigint => BigInt(seen(version).metadata.resourceVersion);

/** status.used.pods of the last version of the quota before each pod's first one. */
const usedBeforeEachPod = (history: readonly Version[]): (string | undefined)[] =>
  createdPods(history).map((pod) => {
    const before = history.filter(
      (version) => version.kind === 'ResourceQuota' && orderOf(version) < orderOf(pod),
    );
    const newest = before.sort((one, other) => Number(orderOf(one) - orderOf(other))).at(-1);
    return newest === undefined ? undefined : seen(newest).status?.used?.['pods'];
  });

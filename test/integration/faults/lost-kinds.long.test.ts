import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT, LABEL, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import { isConflict } from '../../../functions/kubernetes/errors.ts';
import { MIGRATIONS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import type { StepTrigger } from '../../../functions/host/step.ts';
import { CYCLE } from '../../../functions/steps.ts';
import { atOnce } from '../../support/at-once.ts';
import { askUntil } from '../../support/eventually.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { droppedEvents } from '../../support/faults/dropped-events.ts';
import { Measured } from '../../support/measured.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { give, newTenant, retire, headroomFor, type Tenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 5;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '1',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};
const AT_ONCE = 4;
/** How long one namespace loses a kind, from its first event: longer than a lock and the guard's repair. */
const LOSS_MS = (LOCK_SECONDS + 2) * 1_000;

let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;
let runs: Map<string, Promise<void>>;
const measured = new Measured('locked for');

/** `wasLost`: an event of the kind. */
type FaultCase = (tenant: Tenant, wasLost: () => boolean) => Promise<unknown>;

const cycle: FaultCase = (tenant) => tenant.migrate();
const nothingComesOfIt: FaultCase = (tenant) => refuseTargets(environment, tenant);
const cancelled: FaultCase = async (tenant) => {
  await refuseTargets(environment, tenant);
  await tenant.history.until('it is raised', () => wasRaised(tenant.history));
  await environment.admin.delete(MIGRATIONS, { namespace: tenant.name, name: 'mig0' });
};
const nothingToRaise: FaultCase = async (tenant) => {
  const { name, history } = tenant;
  const go = environment.hold(name, 'mtq-raise');
  await tenant.migrate();
  await history.until('it is locked', () => history.isLocked());
  await environment.admin.delete(VMMRQS, { namespace: name, name: 'more' });
  go();
};

/** Raises are recounted until the lock of one lives long enough: on a busy machine it may be over by then. */
const recounted: FaultCase = async (tenant, wasLost) => {
  const { name: namespace, history } = tenant;
  // Hold `lower` until the recount: on a busy machine the cycle could end earlier.
  let go = environment.hold(namespace, 'mtq-lower');
  await refuseTargets(environment, tenant);
  for (;;) {
    await recount(namespace);
    go();
    await history.until('it is undone, or unlocked', () => wasLost() || !history.isLocked());
    if (wasLost()) return;
    go = environment.hold(namespace, 'mtq-lower');
  }
};

/** The write of a quota controller that recounts, as soon as the quota is raised: a real one may come after the lock's 5 s. */
async function recount(namespace: string): Promise<void> {
  const { admin } = environment;
  await askUntil(
    'a raise is recounted',
    async () => {
      const { object } = await admin.get(RESOURCE_QUOTAS, { namespace, name: 'quota' });
      if (object.metadata.labels?.[LABEL.raised] === undefined) return false;
      const { spec, status } = object;
      const hard = spec.hard ?? {};
      const write = admin.replace(
        RESOURCE_QUOTAS,
        { ...object, status: { ...status, hard } },
        { subresource: 'status' },
      );
      return write.then(
        () => true,
        (error: unknown) => {
          if (!isConflict(error)) throw error;
          return false;
        },
      );
    },
    (isDone) => isDone,
  );
}

/** `lock` finds no VMMRQ, and locks once there is one again. */
const infeasible: FaultCase = async (tenant) => {
  const { name: namespace } = tenant;
  const go = environment.hold(namespace, 'mtq-lock');
  await tenant.migrate();
  const until = (what: string, trigger: string, outcome?: string): Promise<unknown> =>
    environment.hops.until(what, () =>
      environment.hops.items.some((hop) =>
        [
          hop.namespace === namespace,
          hop.trigger === trigger,
          hop.outcome === (outcome ?? hop.outcome),
        ].every(Boolean),
      ),
    );
  await until('lock is to be asked', 'mtq-feasibility', 'reply');
  await environment.admin.delete(VMMRQS, { namespace, name: 'more' });
  go();
  await until('lock was asked', 'mtq-lock');
  await give(environment.admin, { namespace, name: 'more', by: {} }, headroomFor(1));
};

const nameOf = ({ type, kind = '' }: StepTrigger): string =>
  `${kind} ${type.split('.').slice(-2).join('.')}`.trim();

/** Cases for events that a plain cycle does not cause. */
const CASES: Readonly<Record<string, FaultCase>> = {
  [nameOf({ type: SOURCE_EVENT.delete, kind: MIGRATIONS.kind })]: cancelled,
  [nameOf({ type: EVENT.lockExpired })]: nothingToRaise,
  [nameOf({ type: EVENT.migrationEnded })]: cancelled,
  [nameOf({ type: EVENT.quotaUndone })]: recounted,
  [nameOf({ type: EVENT.migrationInfeasible })]: infeasible,
  [nameOf({ type: EVENT.lockStalled })]: nothingComesOfIt,
  [nameOf({ type: EVENT.resyncRequested })]: nothingComesOfIt,
};

/** All triggers of the steps of a cycle. */
const KINDS = [
  ...new Map(CYCLE.flatMap(({ triggers }) => triggers).map((kind) => [nameOf(kind), kind] as const)),
];

async function run(index: number, what: string, { type, kind }: StepTrigger): Promise<void> {
  const name = `kind-${index}`;
  let count = 0;
  let end: number | undefined;
  dropped.set(name, ({ event: { attributes } }) => {
    if (attributes['type'] !== type || (kind !== undefined && attributes['kind'] !== kind)) return false;
    end ??= performance.now() + LOSS_MS;
    const isLost = performance.now() < end;
    if (isLost) count += 1;
    return isLost;
  });
  const tenant = await newTenant(environment, { name });
  await (CASES[what] ?? cycle)(tenant, () => count > 0);
  await untilOver(tenant);
  await environment.hops.until('one was lost', () => count > 0);
  measured.add(`${what} (${count} lost)`, expectInTime(tenant, LOCK_SECONDS));
  await expectQuiescent(environment.admin, tenant);
  await retire(environment.admin, tenant);
}

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  dropped = droppedEvents(environment);
  await unlimitMigrations(environment.admin);
  const works = KINDS.map(([what, kind], index) => [what, () => run(index, what, kind)] as const);
  runs = atOnce(AT_ONCE, new Map(works));
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

test.each(KINDS.map(([what]) => what))(
  'a cycle recovers when every event of a kind is lost for a while: %s',
  async (what) => {
    await runs.get(what);
  },
);

test('every trigger of a step has its case', () => {
  expect(runs.size).toBe(KINDS.length);
  expect(Object.keys(CASES).filter((what) => !runs.has(what))).toEqual([]);
});

import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aLauncher, aMigration, aVmi, receiving } from '../../test/support/builders/kubevirt.ts';
import { annotated, labelled } from '../../test/support/builders/object.ts';
import { aQuota, hard, scoped, used } from '../../test/support/builders/quota.ts';
import {
  aClaim,
  aFailure,
  aLimitRange,
  exceeded,
  keepingState,
} from '../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aView, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import { anyMigrations, anyPods } from '../../test/support/builders/listed.ts';
import { kept } from '../../test/support/builders/oversized.ts';
import { assess } from '../domain/verdict/assessment.ts';
import { claimShortfall } from '../domain/sizing/claims.ts';
import { estimate } from '../domain/sizing/estimate.ts';
import { withoutDefaults } from '../domain/sizing/limit-ranges.ts';
import { isReceiving, overlaps } from '../domain/migration.ts';
import { ANNOTATION, KUBEVIRT } from '../domain/names.ts';
import { podUsage } from '../domain/sizing/pod-usage.ts';
import { quotaCoversPod } from '../domain/quota/scopes.ts';
import type { Migration } from '../domain/objects.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { viewSchema } from '../domain/view.ts';
import {
  LISTED_CLAIMS,
  LISTED_EVENTS,
  LISTED_LIMIT_RANGES,
  LISTED_MIGRATIONS,
  LISTED_MIGRATIONS_TO_COME,
  LISTED_PODS,
  LISTED_VMIS,
} from './listed.ts';

const SCOPES = ['Terminating', 'NotTerminating', 'BestEffort', 'PriorityClass', 'CrossNamespacePodAffinity'];
const aScope = fc.constantFrom(...SCOPES);
const quotas = fc
  .tuple(fc.option(aScope), fc.constantFrom('1405m', '9'))
  .map(([scope, cpu]) =>
    aQuota(
      hard({ 'requests.cpu': cpu, 'limits.cpu': '2', 'requests.storage': '10Mi', pods: '5' }),
      used({ 'requests.cpu': '1005m', 'limits.cpu': '1', 'requests.storage': '10Mi', pods: '1' }),
      ...(scope === null ? [] : [scoped({ scopes: [scope] })]),
    ),
  );

const grown = {
  ...aVmi(),
  spec: { domain: { cpu: { sockets: 2 }, memory: { guest: '2Gi' } } },
  status: { ...aVmi().status, currentCPUTopology: { sockets: 1 }, memory: { guestRequested: '1Gi' } },
};
const pinned = annotated(
  KUBEVIRT.emulatorParity,
  '',
)({
  ...aVmi(),
  spec: {
    domain: {
      cpu: { sockets: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true },
      ioThreadsPolicy: 'supplementalPool',
      ioThreads: { supplementalPoolThreadCount: 3 },
    },
  },
  status: { ...aVmi().status, currentCPUTopology: { sockets: 1 } },
});
const overcommitted = labelled(
  KUBEVIRT.outdatedLauncher,
  '',
)({ ...aVmi(), spec: { domain: { resources: { overcommitGuestOverhead: true } } } });
/** Memory was hotplugged to a VM that requested less than its guest has; its launcher names its overhead. */
const hotplugged = {
  ...aVmi(),
  spec: { domain: { memory: { guest: '2Gi' }, resources: { requests: { memory: '2Gi' } } } },
  status: { ...aVmi().status, memory: { guestRequested: '1Gi', memoryOverhead: '400Mi' } },
};
const annotatedLauncher = annotated(KUBEVIRT.memoryOverhead, '524288000')(aLauncher());
const changed = {
  ...aVmi(),
  status: {
    ...aVmi().status,
    conditions: [{ type: KUBEVIRT.migrationRequired, status: 'True' as const }],
  },
};
const vmis = fc.constantFrom(
  pinned,
  overcommitted,
  hotplugged,
  changed,
  annotated(KUBEVIRT.hookSidecars, '[{}]')(aVmi()),
  aVmi(),
  aVmi('vm0', 'node2'),
  grown,
  keepingState(),
  labelled(KUBEVIRT.outdatedLauncher, '')(aVmi()),
);

const aNamespaceAsRead = fc
  .record({
    migrations: anyMigrations,
    pods: fc.oneof(anyPods, fc.constant([annotatedLauncher])),
    quotas: fc.array(quotas, { minLength: 1, maxLength: 2 }),
    vmi: vmis,
    limitRanges: fc.constantFrom([], [aLimitRange({ cpu: '300m' }, { cpu: '1' })]),
    events: fc.constantFrom([], [aFailure(exceeded('quota', 'requests.cpu=1700m'), 5)]),
    claims: fc.constantFrom(
      [],
      [aClaim()],
      [aClaim((claim) => ({ ...claim, spec: { ...claim.spec, accessModes: ['ReadWriteMany'] } }))],
      [aClaim(), aClaim(labelled(KUBEVIRT.migrationName, 'mig0'))],
    ),
  })
  .map(({ vmi, ...rest }): NamespaceSnapshot =>
    aSnapshot({
      ...rest,
      vmis: new Map([[vmi.metadata.name, vmi]]),
      vmmrqs: [aVmmrq(giving({ 'requests.cpu': '4' }))],
    }),
  );

function asListed(snapshot: NamespaceSnapshot): NamespaceSnapshot {
  return {
    ...snapshot,
    migrations: kept(LISTED_MIGRATIONS, snapshot.migrations),
    pods: kept(LISTED_PODS, snapshot.pods),
    limitRanges: kept(LISTED_LIMIT_RANGES, snapshot.limitRanges),
    events: kept(LISTED_EVENTS, snapshot.events),
    claims: kept(LISTED_CLAIMS, snapshot.claims),
    vmis: new Map(kept(LISTED_VMIS, [...snapshot.vmis.values()]).map((vmi) => [vmi.metadata.name, vmi])),
  };
}

/** The verdicts and their inputs: not every size makes another verdict. */
function evaluated(snapshot: NamespaceSnapshot): unknown {
  const { migrations: listed, pods: listedPods, vmis: byName, claims } = snapshot;
  const { verdicts, migrations: chosen, quotas: raised } = assess(snapshot, RULES);
  const full = [aQuota(hard({ persistentvolumeclaims: '0' }))];
  return {
    verdicts,
    chosen,
    raised,
    sizes: listedPods.map((pod) => podUsage(withoutDefaults(pod))),
    covered: SCOPES.map((scope) =>
      listedPods.map((pod) => quotaCoversPod(aQuota(scoped({ scopes: [scope] })), pod)),
    ),
    isOverlapping: overlaps(listedPods),
    targets: [...byName.values()].flatMap((vmi) =>
      [aLauncher(), ...listedPods].map(
        (source) => estimate({ ...snapshot, source, vmi, rejections: [] }).need,
      ),
    ),
    claimed: listed.map((each) => claimShortfall(each, keepingState(), { claims, quotas: full })),
    nudged: listed.map(({ metadata: { annotations } }) => annotations?.[ANNOTATION.nudged]),
  };
}

describe('trimmed lists lead to the same decisions as whole lists', () => {
  test('verdicts, sizes and messages', () => {
    const reasons = new Set<string>();
    fc.assert(
      fc.property(aNamespaceAsRead, (snapshot) => {
        for (const { reason } of assess(snapshot, RULES).verdicts) reasons.add(reason);
        expect(evaluated(asListed(snapshot))).toEqual(evaluated(snapshot));
      }),
      { numRuns: 500 },
    );
    // Not every run is about nothing.
    expect(reasons.size).toBeGreaterThan(5);
  });

  test('verdicts with the migrations that the guard has, without those that ended', () => {
    fc.assert(
      fc.property(aNamespaceAsRead, (snapshot) => {
        const known = kept(LISTED_MIGRATIONS_TO_COME, snapshot.migrations);
        const { migrations = [] } = viewSchema.parse(aView({ migrations: known }));
        expect(assess({ ...snapshot, migrations }, RULES)).toEqual(assess(snapshot, RULES));
      }),
      { numRuns: 500 },
    );
  });
});

/** A tenant may make these too long to be kept. */
describe('what is too long of a migration', () => {
  const LONG = 'x'.repeat(17 * 1024);
  const listed = (...changes: Parameters<typeof aMigration>): Migration => {
    const [migration] = kept(LISTED_MIGRATIONS, [aMigration(...changes)]);
    if (migration === undefined) throw new Error('it was left out');
    return migration;
  };

  test('it receives a VM, whatever its id is', () => {
    expect(isReceiving(listed(receiving(LONG)))).toBe(true);
  });

  test('it is an evacuation, whatever its nudge is', () => {
    const migration = listed(annotated(ANNOTATION.nudged, LONG), annotated(KUBEVIRT.evacuation, 'node1'));
    expect(migration.metadata.annotations).toEqual({ [KUBEVIRT.evacuation]: 'node1' });
  });
});

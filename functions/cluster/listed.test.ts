import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  aContainer,
  aLauncher,
  aMigration,
  anAttachment,
  anInit,
  aTarget,
  aVmi,
  inPhase,
  nudgedFor,
  ofVm,
  onNode,
  podPhase,
  podSpec,
  ready,
  withCondition,
  withPriority,
} from '../../test/support/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../test/support/builders/namespace.ts';
import { annotated, beingDeleted, labelled, named, NOW } from '../../test/support/builders/object.ts';
import { aGrant, aQuota, hard, holding, scoped, raisedBy, used } from '../../test/support/builders/quota.ts';
import {
  aClaim,
  aFailure,
  aLimitRange,
  exceeded,
  keepingState,
} from '../../test/support/builders/pod-rejection.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../test/support/builders/snapshot.ts';
import { kept } from '../../test/support/builders/oversized.ts';
import { assess } from '../domain/verdict/assessment.ts';
import { claimShortfall } from '../domain/sizing/claims.ts';
import { growthOf } from '../domain/sizing/growth.ts';
import { LIMIT_RANGER, withoutDefaults } from '../domain/sizing/limit-ranges.ts';
import { overlaps } from '../domain/migration.ts';
import { ANNOTATION, KUBEVIRT } from '../domain/names.ts';
import type { Pod, PodAffinityTerm } from '../domain/objects.ts';
import { podUsage } from '../domain/sizing/pod-usage.ts';
import { quotaCoversPod } from '../domain/quota/scopes.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { decide as decideLower, type LowerSnapshot } from '../lower/decide.ts';
import {
  LISTED_CLAIMS,
  LISTED_EVENTS,
  LISTED_LIMIT_RANGES,
  LISTED_MIGRATIONS,
  LISTED_PODS,
  LISTED_STATES_OF_PODS,
  LISTED_VMIS,
} from './listed.ts';

const anAmount = fc.constantFrom('100m', '1005m', '2');
const resources = fc.record({ cpu: anAmount }, { requiredKeys: [] });
const aTerm = fc.constantFrom<PodAffinityTerm>(
  {},
  { namespaces: ['other'] },
  { namespaceSelector: { matchLabels: {} } },
);

/** A source launcher with every field that quotas look at. */
const aSource = fc
  .record({
    container: fc.tuple(resources, resources).map(([requests, limits]) => aContainer(requests, limits)),
    inits: fc.array(
      fc
        .tuple(resources, fc.constantFrom(undefined, 'Always' as const))
        .map(([requests, restart]) => anInit(requests, restart)),
      { maxLength: 2 },
    ),
    spec: fc.record(
      {
        overhead: resources,
        resources: fc.record({ requests: resources }),
        activeDeadlineSeconds: fc.constant(60),
        priorityClassName: fc.constant('high'),
        affinity: fc.oneof(
          aTerm.map((term) => ({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } })),
          aTerm.map((podAffinityTerm) => ({
            podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm }] },
          })),
        ),
      },
      { requiredKeys: [] },
    ),
    defaulted: fc.boolean(),
    node: fc.constantFrom('node1', 'node2'),
    phase: fc.constantFrom('Running', 'Succeeded'),
  })
  .map(({ container, inits, spec, defaulted, node, phase }) =>
    aLauncher(
      'vm0',
      podSpec({ containers: [container], initContainers: inits, ...spec }),
      onNode(node),
      podPhase(phase),
      ...(defaulted
        ? [annotated(LIMIT_RANGER, 'LimitRanger plugin set: cpu request for container compute')]
        : []),
    ),
  );

const aMig = fc
  .record({
    // Mostly runs in which there is something to decide.
    phase: fc.constantFrom('Pending', 'Pending', 'Pending', 'Running', 'Succeeded'),
    vm: fc.constantFrom('vm0', 'vm0', 'vm0', 'vm1'),
    refused: fc.constantFrom(true, true, false),
    priority: fc.constantFrom('system-critical', 'user-triggered'),
    deleted: fc.constantFrom(false, false, false, true),
    nudged: fc.boolean(),
    name: fc.constantFrom('mig0', 'mig1', 'mig2'),
  })
  .map(({ phase, vm, refused, priority, deleted, nudged, name }) =>
    aMigration(
      named(name),
      inPhase(phase),
      ofVm(vm),
      withPriority(priority),
      ...(refused ? [] : [withCondition()]),
      ...(deleted ? [beingDeleted()] : []),
      ...(nudged ? [nudgedFor('token', '0')] : []),
    ),
  );

const migrations = fc.uniqueArray(aMig, {
  selector: ({ metadata: { name } }) => name,
  minLength: 1,
  maxLength: 3,
});

const pods = fc
  .record({
    sources: fc.array(aSource, { minLength: 1, maxLength: 2 }),
    withTarget: fc.constantFrom('none', 'none', 'pending', 'ready'),
    withAttachment: fc.boolean(),
    others: fc.constantFrom<Pod[]>([], [aLauncher('vm1')]),
  })
  .map(({ sources, withTarget, withAttachment, others }) => {
    const [source] = sources;
    return [
      ...sources,
      ...others,
      ...(withTarget === 'none' ? [] : [aTarget(aMigration(), ...(withTarget === 'ready' ? [ready] : []))]),
      ...(withAttachment && source !== undefined ? [anAttachment(source)] : []),
    ];
  });

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
const vmis = fc.constantFrom(
  aVmi(),
  aVmi('vm0', 'node2'),
  grown,
  keepingState(),
  labelled(KUBEVIRT.outdatedLauncher, '')(aVmi()),
);

const aNamespaceAsRead = fc
  .record({
    migrations,
    pods,
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
    growth: [...byName.values()].map((vmi) => growthOf(vmi, snapshot.overheadRatio)),
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

  test('whether a lock is over, and how', () => {
    const lock = aLock();
    const quota = fc.constantFrom(raisedBy(aVmmrq())(aQuota()), aQuota(), aQuota(holding(aGrant())));
    const kinds = new Set<string>();
    fc.assert(
      fc.property(fc.tuple(migrations, pods, quota), ([listed, targets, one]) => {
        const whole: LowerSnapshot = {
          now: NOW + 5_000,
          namespace: aNamespace(lockedBy(lock)),
          quotas: [one],
          migrations: listed,
          targets,
          rejections: [aFailure(exceeded('quota', 'requests.cpu=1700m'), 5)],
          stallSeconds: 3,
          overdueToken: undefined,
        };
        const cut: LowerSnapshot = {
          ...whole,
          migrations: kept(LISTED_MIGRATIONS, listed),
          targets: kept(LISTED_STATES_OF_PODS, targets),
          rejections: kept(LISTED_EVENTS, whole.rejections ?? []),
        };
        kinds.add(decideLower(whole).kind);
        expect(decideLower(cut)).toEqual(decideLower(whole));
      }),
    );
    expect([...kinds].toSorted()).toEqual(['lower', 'wait']);
  });
});

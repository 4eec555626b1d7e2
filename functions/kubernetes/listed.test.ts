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
} from '../../test/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../test/builders/namespace.ts';
import {
  annotated,
  beingDeleted,
  createdAt,
  labelled,
  metadata,
  named,
  NOW,
} from '../../test/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  releasedBy,
  scoped,
  settled,
  used,
} from '../../test/builders/quota.ts';
import { aClaim, aFailure, aLimitRange, exceeded, keepingState } from '../../test/builders/refusal.ts';
import { aSnapshot, aVmmrq, giving, RULES } from '../../test/builders/snapshot.ts';
import { assess } from '../domain/assessment.ts';
import { claimShortfall } from '../domain/claims.ts';
import { growthOf } from '../domain/growth.ts';
import { LIMIT_RANGER, withoutDefaults } from '../domain/limit-ranges.ts';
import { overlaps } from '../domain/migration.ts';
import { ANNOTATION, KUBEVIRT, LABEL } from '../domain/names.ts';
import type { KubernetesObject, Migration, Pod, PodAffinityTerm } from '../domain/objects.ts';
import { podUsage } from '../domain/pod-usage.ts';
import { quotaCoversPod } from '../domain/scopes.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { decide as decideUnlock, type UnlockSnapshot } from '../unlock/decide.ts';
import type { ListedType } from './cluster.ts';
import {
  LISTED_CLAIMS,
  LISTED_EVENTS,
  LISTED_LIMIT_RANGES,
  LISTED_MIGRATIONS,
  LISTED_HIDDEN_GRANTS,
  LISTED_MIGRATIONS_TO_COME,
  LISTED_PODS,
  LISTED_STATES_OF_PODS,
  LISTED_STATES_OF_VMMRQS,
  LISTED_VMIS,
} from './listed.ts';

const LONG = 'x'.repeat(250 * 1024);

/** With all that a tenant may put into it and nobody reads. */
function stuffed<T extends KubernetesObject>(object: T): T {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`theirs/${index}`, 'x']));
  const own = object.metadata;
  const more = {
    annotations: { theirs: LONG, ...own.annotations },
    labels: { ...many, ...own.labels },
    managedFields: [{ manager: 'theirs', fieldsV1: { 'f:spec': {} } }],
    finalizers: [LONG],
  };
  return { ...object, metadata: { ...own, ...more }, theirs: LONG };
}

function kept<T extends KubernetesObject>({ trim }: ListedType<T>, objects: readonly T[]): T[] {
  return objects.flatMap((object) => trim(stuffed(object))?.object ?? []);
}

const bytes = (value: unknown): number => JSON.stringify(value).length;

const anAmount = fc.constantFrom('100m', '1005m', '2');
const resources = fc.record({ cpu: anAmount }, { requiredKeys: [] });
const aTerm = fc.constantFrom<PodAffinityTerm>(
  {},
  { namespaces: ['other'] },
  { namespaceSelector: { matchLabels: {} } },
);

/** A source launcher, with whatever quotas look at. */
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
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded'),
    vm: fc.constantFrom('vm0', 'vm1'),
    refused: fc.boolean(),
    priority: fc.constantFrom('system-critical', 'user-triggered'),
    deleted: fc.boolean(),
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
    withTarget: fc.constantFrom('none', 'pending', 'ready'),
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

/** The verdicts, and what they are made of: not every size makes another verdict. */
function judged(snapshot: NamespaceSnapshot): unknown {
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

describe('what is kept of lists decides as the whole does', () => {
  test('verdicts, sizes and messages', () => {
    const reasons = new Set<string>();
    fc.assert(
      fc.property(aNamespaceAsRead, (snapshot) => {
        for (const { reason } of assess(snapshot, RULES).verdicts) reasons.add(reason);
        expect(judged(asListed(snapshot))).toEqual(judged(snapshot));
      }),
      { numRuns: 500 },
    );
    // Not all of them about nothing.
    expect(reasons.size).toBeGreaterThan(3);
  });

  test('how a lock ended, and whether it is over', () => {
    const lock = aLock();
    const strangers = fc.constantFrom<Pod[]>([], [aLauncher('theirs', createdAt(60))]);
    const quota = fc.constantFrom(
      aQuota(settled(), releasedBy(lock.token)),
      aQuota(settled()),
      aQuota(holding(aGrant())),
    );
    const snapshots = fc.tuple(migrations, pods, strangers, quota);
    const kinds = new Set<string>();
    fc.assert(
      fc.property(snapshots, ([listed, launchers, others, one]) => {
        const whole: UnlockSnapshot = {
          now: NOW + 5_000,
          namespace: aNamespace(lockedBy(lock)),
          quotas: [one],
          migrations: listed,
          pods: [...launchers, ...others],
          vmmrqs: [aVmmrq(giving({ 'requests.cpu': '4' }))],
          refusals: [aFailure(exceeded('quota', 'requests.cpu=1700m'), 5)],
          token: lock.token,
        };
        const cut: UnlockSnapshot = {
          ...whole,
          migrations: kept(LISTED_MIGRATIONS, whole.migrations),
          pods: kept(LISTED_STATES_OF_PODS, whole.pods),
          refusals: kept(LISTED_EVENTS, whole.refusals ?? []),
        };
        kinds.add(decideUnlock(whole).kind);
        expect(ended(cut)).toEqual(ended(whole));
      }),
    );
    expect([...kinds].toSorted()).toEqual(['notYet', 'unlock']);
  });
});

function ended(snapshot: UnlockSnapshot): unknown {
  const decision = decideUnlock(snapshot);
  if (decision.kind !== 'unlock') return decision;
  return { ...decision, strangers: decision.strangers.map(({ metadata: { name } }) => name) };
}

describe('whatever is stored', () => {
  const many = <T>(count: number, each: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => each(index));
  const owner = { apiVersion: 'v1', kind: LONG, name: LONG, uid: LONG, controller: true };
  const endless: Pod = stuffed(
    aLauncher(
      'vm0',
      annotated(LIMIT_RANGER, LONG),
      podSpec({
        containers: many(10_000, (index) => ({ ...aContainer({ cpu: '1' }), name: `c${index}` })),
        overhead: Object.fromEntries(many(10_000, (index) => [`example.com/${index}`, '1'])),
      }),
      (pod) => ({ ...pod, metadata: { ...pod.metadata, ownerReferences: many(1_000, () => owner) } }),
      (pod) => ({ ...pod, status: { containerStatuses: many(10_000, () => ({ name: 'c', ready: true })) } }),
    ),
  );
  const migration: Migration = stuffed({
    ...aMigration(),
    status: { conditions: many(10_000, () => ({ type: 'theirs', status: 'True' as const })) },
  });
  const event = { ...aFailure(LONG), involvedObject: { name: LONG } };

  test.each<[string, () => unknown, number]>([
    ['a pod', () => LISTED_PODS.trim(endless)?.object, 16],
    ['the state of a pod', () => LISTED_STATES_OF_PODS.trim(endless)?.object, 4],
    ['a migration', () => LISTED_MIGRATIONS.trim(migration)?.object, 16],
    ['an Event', () => LISTED_EVENTS.trim(event)?.object, 16],
  ])('%s is small, and says which it is', (_what, trim, kib) => {
    const object = trim();
    expect(bytes(object)).toBeLessThan(kib * 1024);
    expect(object).toMatchObject({ metadata: { name: expect.any(String), uid: expect.any(String) } });
  });

  test('it takes about what it says', () => {
    const usual = LISTED_PODS.trim(aLauncher());
    expect(usual?.size).toBeGreaterThan(bytes(usual?.object) / 2);
    expect(LISTED_PODS.trim(endless)?.size).toBeLessThanOrEqual(16 * 1024);
  });

  /** As long as just fits beside nothing else. */
  test.each([16_060, 16_200, 250 * 1024])(
    'an annotation of %d bytes, and many owners, hide nothing of what it is and does',
    (length) => {
      const theirs = 'x'.repeat(length);
      const owned = <T extends KubernetesObject>(object: T): T => ({
        ...object,
        metadata: {
          ...object.metadata,
          ownerReferences: many(1_000, () => ({ ...owner, uid: 'u', name: 'n' })),
        },
      });
      const running = owned(aMigration(inPhase('Running'), annotated(ANNOTATION.nudged, theirs)));
      const same = { status: { phase: 'Running' }, spec: running.spec };
      expect(LISTED_MIGRATIONS.trim(running)?.object).toMatchObject(same);
      expect(LISTED_MIGRATIONS_TO_COME.trim(running)?.object).toMatchObject(same);
      const pod = owned(aLauncher('vm0', annotated(LIMIT_RANGER, theirs)));
      expect(LISTED_PODS.trim(pod)?.object.spec).toMatchObject({ containers: pod.spec.containers });
    },
  );

  test('of all migrations and VMMRQs of a cluster no more is kept than what is looked at there', () => {
    const theirs = 'x'.repeat(1_000);
    const more = { theirs, [ANNOTATION.nudged]: theirs };
    const long = <T extends KubernetesObject>(object: T): T => ({
      ...object,
      metadata: {
        ...object.metadata,
        annotations: more,
        labels: more,
        ownerReferences: many(100, () => owner),
      },
    });
    const vmmrq = aVmmrq(giving({ [theirs]: '1' }));
    expect(LISTED_MIGRATIONS_TO_COME.trim(long(aMigration()))?.size).toBeLessThan(400);
    expect(LISTED_STATES_OF_VMMRQS.trim(long(vmmrq))?.size).toBeLessThan(400);
  });

  test('of all quotas of a cluster those are kept that hold a grant without its label', () => {
    const raised = aQuota(holding(aGrant()));
    const { [LABEL.raised]: _, ...labels } = raised.metadata.labels ?? {};
    const hidden = { ...raised, metadata: { ...raised.metadata, labels } };
    const unreadable = aQuota(annotated(ANNOTATION.grant, LONG));
    expect(kept(LISTED_HIDDEN_GRANTS, [aQuota(), raised, hidden, unreadable])).toHaveLength(2);
  });

  test('what has ended is nothing that a migration to come waits for', () => {
    const three = [aMigration(), aMigration(inPhase('Succeeded')), aMigration(inPhase('Failed'))];
    expect(kept(LISTED_MIGRATIONS_TO_COME, three)).toHaveLength(1);
  });

  test('the names that are kept of an object', () => {
    expect(LISTED_MIGRATIONS.trim(stuffed(aMigration()))?.object).toEqual({
      metadata: { ...metadata('mig0'), annotations: {} },
      spec: { vmiName: 'vm0' },
      status: { phase: 'Pending', conditions: [{ type: KUBEVIRT.rejectedByQuota, status: 'True' }] },
    });
  });
});

import { describe, expect, test } from '@jest/globals';
import { LOCK_BUDGET_MS, REPAIR_MS, WINDOW_MS } from '../../../functions/domain/verdict/attempt.ts';
import type { KubernetesObject, ResourceQuota } from '../../../functions/domain/objects.ts';
import { aMigration, anAttachment, aTarget } from '../../support/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../support/builders/namespace.ts';
import { NOW, seconds, withUid } from '../../support/builders/object.ts';
import { aQuota, holding, aGrant, ownerOf, RECORDED_HARD } from '../../support/builders/quota.ts';
import { breaches } from '../../support/invariants.ts';
import type { Version } from '../../support/history.ts';

/** Every fault test ends with these checks, and finds nothing: that they can is shown here. */

interface Seen {
  readonly object: KubernetesObject;
  /** Milliseconds. */
  readonly at?: number;
  readonly foreign?: boolean;
}

function found(seen: readonly Seen[]): string[] {
  const versions = seen.map(({ object, at = 0 }, index): Version => ({
    kind: object.kind ?? '',
    revision: index + 1,
    gone: false,
    object,
    at: NOW + at,
  }));
  return breaches({
    versions: () => versions,
    isForeign: ({ revision }) => seen[revision - 1]?.foreign === true,
  });
}

describe('I7: locked while attempts fail', () => {
  const FREE = aNamespace();
  const MIGRATION = aMigration();
  const OTHER = { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' };
  /** As long as the budget, with the repair. */
  const LIFETIME_MS = LOCK_BUDGET_MS - REPAIR_MS;

  let tokens = 0;
  /** A lock of these migrations that lasts from one moment to another, and what comes while it is held. */
  function lock(
    from: number,
    to: number,
    {
      of = [{ name: 'mig0', uid: MIGRATION.metadata.uid, vmi: 'uid-of-vm0' }],
      pods = [] as KubernetesObject[],
    } = {},
  ): Seen[] {
    tokens += 1;
    const times = { acquiredAt: seconds(0), expiresAt: seconds(LIFETIME_MS / 1_000) };
    const held = aNamespace(lockedBy(aLock({ token: `token-${tokens}`, migrations: of, ...times })));
    return [
      { object: FREE, at: from },
      { object: held, at: from },
      ...pods.map((object) => ({ object, at: to })),
      { object: FREE, at: to },
    ];
  }
  const TOO_LONG = [expect.stringMatching(/^I7: .* 1 ms too long$/)];
  const half = LOCK_BUDGET_MS / 2;

  test.each<[string, readonly Seen[], unknown]>([
    ['nothing at all', [{ object: FREE }], []],
    ['the whole budget in one', lock(0, LOCK_BUDGET_MS), []],
    ['the budget in two', [...lock(0, half), ...lock(100_000, 100_000 + half)], []],
    ['a millisecond more in two', [...lock(0, half), ...lock(100_000, 100_001 + half)], TOO_LONG],
    [
      'a millisecond more, in the last moment of the window',
      [
        ...lock(0, half),
        ...lock(WINDOW_MS - half - 1, WINDOW_MS),
        ...lock(WINDOW_MS + half, WINDOW_MS + half + 1),
      ],
      TOO_LONG,
    ],
    [
      'as much again when the window is over',
      [...lock(0, LOCK_BUDGET_MS), ...lock(WINDOW_MS, WINDOW_MS + LOCK_BUDGET_MS)],
      [],
    ],
    [
      'a lock that got its migration through does not count',
      [...lock(0, half), ...lock(100_000, 100_001 + half, { pods: [aTarget(MIGRATION)] })],
      [],
    ],
    [
      'nor one that got the attachment pod of a target in that was there before',
      [
        ...lock(0, half),
        { object: aTarget(MIGRATION), at: half },
        ...lock(100_000, 100_001 + half, { pods: [anAttachment(aTarget(MIGRATION))] }),
      ],
      [],
    ],
    [
      'the pod of one of two is not enough',
      [
        ...lock(0, half),
        ...lock(100_000, 100_001 + half, {
          of: [{ name: 'mig0', uid: MIGRATION.metadata.uid, vmi: 'uid-of-vm0' }, OTHER],
          pods: [aTarget(MIGRATION)],
        }),
      ],
      TOO_LONG,
    ],
    [
      'a pod that was there before the lock is not of it',
      [
        ...lock(0, half, { pods: [aTarget(MIGRATION)] }),
        ...lock(100_000, 100_000 + half, { pods: [aTarget(MIGRATION)] }),
        ...lock(200_000, 200_001 + half),
      ],
      TOO_LONG,
    ],
    [
      'one that is not over counts so far',
      [
        ...lock(0, half),
        ...lock(100_000, 100_001 + half).slice(0, 2),
        { object: aQuota(), at: 100_001 + half },
      ],
      TOO_LONG,
    ],
  ])('%s', (_, seen, want) => {
    expect(found(seen)).toEqual(want);
  });
});

describe('I4: who owns the keys of spec.hard', () => {
  const CPU = 'requests.cpu';
  const REST = Object.keys(RECORDED_HARD).filter((key) => key !== CPU);
  const OURS = { manager: 'managed-tenant-quota', operation: 'Update' };
  const flux = ownerOf(CPU, ...REST)({ manager: 'flux', operation: 'Apply' });
  const ours = ownerOf(CPU)(OURS);
  const owned = (
    by: NonNullable<KubernetesObject['metadata']['managedFields']>,
    quota: ResourceQuota = aQuota(),
  ): ResourceQuota => ({ ...quota, metadata: { ...quota.metadata, managedFields: by } });
  const raised = owned(
    [ours, ownerOf(...REST)({ manager: 'flux', operation: 'Apply' })],
    aQuota(holding(aGrant({ original: {}, raised: {} }))),
  );

  test.each<[string, readonly Seen[], string[]]>([
    ['as before', [owned([flux]), raised, owned([flux])].map((object) => ({ object })), []],
    [
      'ours in the end',
      [owned([flux]), raised, owned(raised.metadata.managedFields ?? [])].map((object) => ({ object })),
      ['3 quota I4: requests.cpu is owned by managed-tenant-quota Update, and was by flux Apply'],
    ],
    [
      'nobody’s in the end',
      [owned([flux]), raised, owned([])].map((object) => ({ object })),
      Object.keys(RECORDED_HARD).map((key) => `3 quota I4: ${key} is owned by nobody, and was by flux Apply`),
    ],
    [
      'whoever takes a key meanwhile keeps it, and the others are as before',
      [
        { object: owned([flux]) },
        { object: raised },
        {
          object: {
            ...raised,
            metadata: {
              ...raised.metadata,
              managedFields: [
                ownerOf(...REST)({ manager: 'flux', operation: 'Apply' }),
                ownerOf(CPU)({ manager: 'emergency', operation: 'Apply' }),
              ],
            },
          },
          foreign: true,
        },
        { object: owned([flux]) },
      ],
      ['4 quota I4: requests.cpu is owned by flux Apply, and was by emergency Apply'],
    ],
    [
      'of another quota of that name',
      [owned([flux]), withUid('another')(owned([ours]))].map((object) => ({ object })),
      [],
    ],
  ])('%s', (_, seen, want) => {
    expect(found(seen)).toEqual(want);
  });
});

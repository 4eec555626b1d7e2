import { describe, expect, test } from '@jest/globals';
import { LOCK_BUDGET_MS, REPAIR_MS, WINDOW_MS } from '../../../functions/domain/verdict/attempt.ts';
import { LABEL } from '../../../functions/domain/names.ts';
import type { KubernetesObject, ResourceQuota } from '../../../functions/domain/objects.ts';
import { aMigration, anAttachment, aTarget } from '../../support/builders/kubevirt.ts';
import {
  afterAttempt,
  aLock,
  anAttempt,
  aNamespace,
  lockedBy,
  lockedFor,
} from '../../support/builders/namespace.ts';
import { NOW, seconds, unlabelled } from '../../support/builders/object.ts';
import { aQuota, loweredBy, raisedBy, specHard } from '../../support/builders/quota.ts';
import { aVmmrq } from '../../support/builders/snapshot.ts';
import { invariantViolations } from '../../support/invariants/invariants.ts';
import type { Version } from '../../support/tenant/history.ts';

/** Every fault test ends with these checks and finds no violation; these cases show that the checks can find one. */

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
  return invariantViolations({
    versions: () => versions,
    isForeign: ({ revision }) => seen[revision - 1]?.foreign === true,
  });
}

describe('I7: locked while attempts fail', () => {
  const FREE = aNamespace();
  const MIGRATION = aMigration();
  const OTHER = { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' };
  /** The lock budget plus the time of a repair. */
  const LIFETIME_MS = LOCK_BUDGET_MS - REPAIR_MS;

  let tokens = 0;
  /** The versions of a namespace that is locked for these migrations between two times, with the versions in between. */
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
  /** A lock that its record calls free. */
  const free = (from: number): Seen[] => {
    const record = anAttempt({ failures: 0, locked: lockedFor(0) });
    return [
      ...lock(from, from + half).slice(0, -1),
      { object: aNamespace(afterAttempt(record)), at: from + half },
    ];
  };

  test.each<[string, readonly Seen[], unknown]>([
    ['nothing at all', [{ object: FREE }], []],
    ['the whole budget in one', lock(0, LOCK_BUDGET_MS), []],
    [
      'the budget, and one free lock',
      [...lock(0, half), ...free(100_000), ...lock(200_000, 200_000 + half)],
      [],
    ],
    [
      'a second free lock of the window counts',
      [...free(0), ...lock(100_000, 100_000 + half), ...free(200_000), ...lock(300_000, 300_001)],
      TOO_LONG,
    ],
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

describe('quotas', () => {
  const RAISED = raisedBy(aVmmrq())(aQuota());
  const LOCKED = { object: aNamespace(lockedBy(aLock())) };
  const edited = (quota: ResourceQuota): ResourceQuota => specHard({ pods: '99' })(quota);
  const unlabelledRaise = unlabelled(LABEL.raised)(RAISED);

  test.each<[string, readonly Seen[], string]>([
    [
      'I4: its spec is not what its owners want',
      [{ object: aQuota() }, { object: edited(aQuota()) }],
      'I2, I4',
    ],
    [
      'I2: what it has used is lost',
      [LOCKED, { object: aQuota() }, { object: { ...RAISED, status: { ...RAISED.status, used: {} } } }],
      'I2',
    ],
    [
      'I1: raised without its label',
      [LOCKED, { object: aQuota() }, { object: RAISED }, { object: unlabelledRaise }],
      'I1',
    ],
    [
      'I1: raised without a lock on the namespace',
      [{ object: aNamespace() }, { object: aQuota() }, { object: RAISED }],
      'I1',
    ],
    ['I5: by more than is given', [LOCKED, { object: aQuota() }, { object: RAISED }], 'I5'],
  ])('%s', (_, seen, want) => {
    expect(found(seen).join()).toContain(want);
  });

  test('an edit by the quota’s owner violates no invariant', () => {
    expect(found([{ object: aQuota() }, { object: edited(aQuota()), foreign: true }])).toEqual([]);
  });

  test('a whole cycle violates no invariant', () => {
    const seen = [
      { object: aVmmrq() },
      LOCKED,
      { object: aQuota() },
      { object: RAISED },
      { object: loweredBy()(RAISED) },
    ];
    expect(found(seen)).toEqual([]);
  });
});

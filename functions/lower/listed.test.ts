import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyMigrations, anyPods } from '../../test/support/builders/listed.ts';
import { aLock, aNamespace, lockedBy } from '../../test/support/builders/namespace.ts';
import { NOW } from '../../test/support/builders/object.ts';
import { kept } from '../../test/support/builders/oversized.ts';
import { aFailure, exceeded } from '../../test/support/builders/pod-rejection.ts';
import { aGrant, aQuota, holding, raisedBy } from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { LISTED_EVENTS, LISTED_MIGRATIONS, LISTED_STATES_OF_PODS } from '../cluster/listed.ts';
import { decide, type LowerSnapshot } from './decide.ts';

test('lower decides the same from trimmed lists as from whole ones', () => {
  const lock = aLock();
  const quota = fc.constantFrom(raisedBy(aVmmrq())(aQuota()), aQuota(), aQuota(holding(aGrant())));
  const kinds = new Set<string>();
  fc.assert(
    fc.property(fc.tuple(anyMigrations, anyPods, quota), ([listed, targets, one]) => {
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
      kinds.add(decide(whole).kind);
      expect(decide(cut)).toEqual(decide(whole));
    }),
  );
  expect([...kinds].toSorted()).toEqual(['lower', 'wait']);
});

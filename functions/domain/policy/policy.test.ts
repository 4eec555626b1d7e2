import { describe, expect, test } from '@jest/globals';
import { named } from '../../../test/support/builders/object.ts';
import { aClusterVmmrq, aVmmrq, forPurposes } from '../../../test/support/builders/snapshot.ts';
import type { LockedMigration } from '../lock.ts';
import type { Vmmrq } from '../objects.ts';
import { clusterWideName, vmmrqName } from '../vmmrq-name.ts';
import { dependOnPurpose, givingTo, givingToAll, inForce, ownVmmrqs } from './policy.ts';

const receiving = <T extends Vmmrq>(vmmrq: T): T => ({
  ...vmmrq,
  spec: { ...vmmrq.spec, allowReceive: true },
});

const OWN = aVmmrq();
const FOR_UPDATES = aVmmrq(named('updates'), forPurposes('WorkloadUpdate', 'LiveUpdate'));
const ALLOWING = aVmmrq(named('allowing'), receiving);
const DRAINS = aClusterVmmrq();
const FOR_USERS = aClusterVmmrq(named('users'), forPurposes('UserRequested'));
const ALL = [OWN, FOR_UPDATES, ALLOWING, DRAINS, FOR_USERS];

type Recipient = Pick<LockedMigration, 'purpose' | 'receives'>;

describe('VMMRQs give', () => {
  const CASES: Record<string, readonly [Recipient, readonly Vmmrq[]]> = {
    'to an evacuation': [{ purpose: 'Evacuation' }, [OWN, ALLOWING, DRAINS]],
    'to an update': [{ purpose: 'WorkloadUpdate' }, [OWN, FOR_UPDATES, ALLOWING, DRAINS]],
    'to a hotplug': [{ purpose: 'LiveUpdate' }, [OWN, FOR_UPDATES, ALLOWING]],
    'to the descheduler’s': [{ purpose: 'Rebalance' }, [OWN, ALLOWING]],
    'to a user’s': [{ purpose: 'UserRequested' }, [OWN, ALLOWING, FOR_USERS]],
    'to one of unknown purpose': [{}, [OWN, ALLOWING]],
    'to one that receives a VM': [{ purpose: 'UserRequested', receives: true }, [ALLOWING]],
  };
  test.each(Object.entries(CASES))('%s', (_, [recipient, want]) => {
    expect(givingTo(ALL, recipient)).toEqual(want);
  });

  test('to each of several: those that give to all of them', () => {
    expect(givingToAll(ALL, [{ purpose: 'Evacuation' }, { purpose: 'WorkloadUpdate' }])).toEqual([
      OWN,
      ALLOWING,
      DRAINS,
    ]);
    expect(givingToAll(ALL, [])).toEqual(ALL);
  });
});

test('the purpose matters where a VMMRQ names some, or is cluster-wide', () => {
  expect([[], [OWN], [FOR_UPDATES], [DRAINS]].map(dependOnPurpose)).toEqual([false, false, true, true]);
});

test('a cluster-wide VMMRQ holds where it selects the namespace; a namespace’s own always', () => {
  const gold = aClusterVmmrq((vmmrq) => ({
    ...vmmrq,
    spec: { ...vmmrq.spec, namespaceSelector: { matchLabels: { tier: 'gold' } } },
  }));
  expect(inForce([OWN, DRAINS, gold], { tier: 'gold' })).toEqual([OWN, DRAINS, gold]);
  expect(inForce([OWN, DRAINS, gold], {})).toEqual([OWN, DRAINS]);
});

test('both kinds are named in one list', () => {
  expect(ALL.map(vmmrqName)).toEqual(['vmmrq', 'updates', 'allowing', 'cvmmrq/drains', 'cvmmrq/users']);
  expect(ALL.map(vmmrqName).map(clusterWideName)).toEqual([
    undefined,
    undefined,
    undefined,
    'drains',
    'users',
  ]);
  expect(ownVmmrqs({ vmmrqs: ALL })).toEqual([OWN, FOR_UPDATES, ALLOWING]);
});

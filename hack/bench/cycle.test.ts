import { expect, test } from '@jest/globals';
import type { Namespace } from '../../functions/domain/objects.ts';
import { aLock, aNamespace, lockedBy, lockedUnreadably } from '../../test/support/builders/namespace.ts';
import { annotated } from '../../test/support/builders/object.ts';
import type { Change } from '../demo/watching.ts';
import { timestampsOf } from './cycle.ts';

/** The changes through these versions of the namespace, ten milliseconds apart. */
const through = (versions: readonly Namespace[]): Change[] =>
  versions.slice(1).map((after, index) => ({
    kind: 'Namespace',
    at: (index + 1) * 10,
    version: BigInt(index + 1),
    before: versions[index],
    after,
  }));

const FREE = aNamespace();
const TOUCHED = annotated('somebody', 'else')(FREE);

test.each<[string, Namespace]>([
  ['of this version', lockedBy(aLock())(FREE)],
  [
    'that this version cannot parse, from another commit',
    lockedUnreadably('{"v":1,"migrations":[{}]}')(FREE),
  ],
])('the window of a lock %s is from the first version with it to the first one without', (_, locked) => {
  const changes = through([FREE, TOUCHED, locked, annotated('somebody', 'else')(locked), FREE, TOUCHED]);
  expect(timestampsOf(changes, 'tenant')).toMatchObject({ locked: 20, unlocked: 40 });
});

test('a lock of another namespace does not count', () => {
  const changes = through([FREE, lockedBy(aLock())(FREE), FREE]);
  expect(timestampsOf(changes, 'other')).toMatchObject({ locked: undefined, unlocked: undefined });
});

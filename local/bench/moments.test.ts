import { expect, test } from '@jest/globals';
import type { Namespace } from '../../functions/domain/objects.ts';
import { aLock, aNamespace, lockedBy, lockedUnreadably } from '../../test/builders/namespace.ts';
import { annotated } from '../../test/builders/object.ts';
import type { Change } from '../demo/watching.ts';
import { momentsOf } from './moments.ts';

/** The namespace from one version to the next, ten milliseconds each. */
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
  ['of another commit, that this tree cannot read', lockedUnreadably('{"v":1,"migrations":[{}]}')(FREE)],
])('a lock %s is from when it is there until it is gone', (_, locked) => {
  const changes = through([FREE, TOUCHED, locked, annotated('somebody', 'else')(locked), FREE, TOUCHED]);
  expect(momentsOf(changes, 'tenant')).toMatchObject({ locked: 20, unlocked: 40 });
});

test('a lock of another namespace is none of its own', () => {
  const changes = through([FREE, lockedBy(aLock())(FREE), FREE]);
  expect(momentsOf(changes, 'other')).toMatchObject({ locked: undefined, unlocked: undefined });
});

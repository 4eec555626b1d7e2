import { expect, test } from '@jest/globals';
import { renderWall } from '../cluster/walls.ts';
import { WALL } from '../support/wall.ts';
import { rightsProblems, USED_RIGHTS_FOLDER, usedIn } from './rights.ts';

/** Runs after the integration tests, on the audit logs of all their labs. */
test(`installed with ${WALL}: every right that is granted is used, and none is missing`, async () => {
  expect(rightsProblems(await renderWall(WALL), usedIn(USED_RIGHTS_FOLDER))).toEqual([]);
});

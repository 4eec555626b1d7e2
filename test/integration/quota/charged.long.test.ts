import { expect, test } from '@jest/globals';
import { PAIRS, testCharges } from '../../support/policies/charges.ts';

const charged = testCharges(PAIRS);

test('each key was charged under each scope for some shape', async () => {
  expect(await charged()).toEqual(Object.keys(PAIRS));
});

import { expect, test } from '@jest/globals';
import { SINGLES, testCharges } from '../../support/policies/charges.ts';

const charged = testCharges(SINGLES);

test('every key and scope was charged for some shape and not for another', async () => {
  const never = ['requests.storage', 'persistentvolumeclaims', 'services', 'VolumeAttributesClass'];
  const always = ['count/configmaps'];
  expect((await charged()).filter((name) => !always.includes(name)).toSorted()).toEqual(
    Object.keys(SINGLES)
      .filter((name) => ![...never, ...always].includes(name))
      .toSorted(),
  );
});

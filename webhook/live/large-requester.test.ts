import { expect, test } from '@jest/globals';
import { aStorageMap } from '../../test/support/builders/live.ts';
import type { AdmissionRequest, Decision } from '../admission/admission.ts';
import { reviewForklift } from './forklift-review.ts';

type UserInfo = AdmissionRequest['userInfo'];

const KIB = 1024;
const letters = (bytes: number): string => 'a'.repeat(bytes);

/** The decision on a map that this user creates. */
const decide = (userInfo: UserInfo): Promise<Decision> =>
  reviewForklift(
    {
      ...{ uid: 'u', dryRun: false, operation: 'CREATE', namespace: 'tenant' },
      ...{ object: aStorageMap(), oldObject: null, userInfo },
      resource: { group: 'forklift.konveyor.io', version: 'v1beta1', resource: 'storagemaps' },
    } as unknown as AdmissionRequest,
    {
      cluster: {
        get: () => Promise.reject(new Error('read')),
        create: () => Promise.reject(new Error('asked')),
      },
      allowLoopback: false,
    },
  );

test('a user with 60 KiB of groups may write', async () => {
  const groups = Array.from({ length: 60 }, () => letters(KIB - 3));
  expect(await decide({ username: 'tina', groups })).toMatchObject({ allowed: true });
});

test.each<[string, UserInfo]>([
  ['a name', { username: letters(64 * KIB), groups: [] }],
  ['a group', { username: 'tina', groups: ['system:masters', letters(64 * KIB)] }],
  ['many groups', { username: 'tina', groups: Array.from({ length: 40 * KIB }, () => '') }],
  ['an attribute', { username: 'tina', groups: [], extra: { scopes: [letters(64 * KIB)] } }],
])('a user with more than 64 KiB in %s is refused, with the limit', async (_what, userInfo) => {
  const decision = await decide(userInfo);
  expect(decision).toMatchObject({ allowed: false, code: 403 });
  expect(decision).toMatchObject({ message: expect.stringContaining('64 KiB') });
});

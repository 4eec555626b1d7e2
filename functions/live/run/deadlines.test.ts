import { expect, test } from '@jest/globals';
import { itsVmi } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import { transferSeconds } from './deadlines.ts';
import type { Claim } from '../../domain/live/kubevirt.ts';

const disk = (storage: string): Claim => ({
  metadata: metadata('disk'),
  spec: { resources: { requests: { storage } } },
});
const withDomain = (domain: Record<string, unknown>): ReturnType<typeof itsVmi> =>
  itsVmi((vmi) => ({ ...vmi, spec: { ...vmi.spec, domain } }));

test.each<[string, ReturnType<typeof itsVmi>, Claim[], number]>([
  ['a small VM: an hour', itsVmi(), [disk('10Gi')], 3_600],
  ['4 GiB of memory and 60 GiB of disks', itsVmi(), [disk('10Gi'), disk('50Gi')], 64 * 150],
  ['what is part of a GiB counts as one', itsVmi(), [disk('60.1Gi')], 65 * 150],
  ['memory by its request', withDomain({ resources: { requests: { memory: '40Gi' } } }), [], 40 * 150],
  ['a VM that says nothing of its memory', withDomain({}), [disk('40Gi')], 40 * 150],
])('%s', (_what, ...[vmi, claims, wanted]) => {
  expect(transferSeconds(vmi, claims)).toBe(wanted);
});

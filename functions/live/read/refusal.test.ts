import { expect, test } from '@jest/globals';
import {
  aMigration,
  aVmi,
  inPhase,
  receiving,
  withCondition,
} from '../../../test/support/builders/kubevirt.ts';
import { createdAt, NOW } from '../../../test/support/builders/object.ts';
import { aFailure, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import type { Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import type { KubernetesEvent } from '../../domain/objects.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { readRefusal } from './refusal.ts';

const TEXT = forbidden('maximum memory usage per Pod is 1Gi, but limit is 1412828864');
const received = aMigration(receiving('id'), withCondition()) as Vmim;

const readerOf = (list: () => Promise<KubernetesEvent[]>): Reader =>
  ({ list: async () => ({ items: await list(), date: new Date(NOW) }) }) as unknown as Reader;
const refusalBy = (
  list: () => Promise<KubernetesEvent[]>,
  vmim: Vmim = received,
): Promise<string | undefined> =>
  readRefusal(readerOf(list), { vmi: aVmi() as Vmi, received: vmim, now: NOW });

test('is the newest text of the API server', async () => {
  expect(await refusalBy(() => Promise.resolve([aFailure('older', -60), aFailure(TEXT)]))).toBe(TEXT);
});

test.each<[string, Vmim]>([
  ['once there is a launcher', inPhase('Scheduling')(received) as Vmim],
  ['while the launcher may be on its way', createdAt(-9)(received)],
])('is not asked for %s', async (_, vmim) => {
  const none = (): never => {
    throw new Error('listed');
  };
  expect(await refusalBy(none, vmim)).toBeUndefined();
});

test('is not known where the account may not read Events', async () => {
  const status = { code: 403, reason: 'Forbidden' };
  expect(await refusalBy(() => Promise.reject(new ApiError('list', status, new Date(NOW))))).toBeUndefined();
});

import { expect, test } from '@jest/globals';
import { aPlanMigration, aRecord, aVm } from '../../../test/support/builders/live.ts';
import { annotated, seconds, withUid } from '../../../test/support/builders/object.ts';
import type { PlanMigration, PlanVm } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION } from '../../domain/live/names.ts';
import { withRecord } from '../run/record.ts';
import type { ApiServer, ResourceType } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { withdrawLateRecord } from './withdraw-late-record.ts';

const ENTRY: PlanVm = { id: aVm().metadata.uid, namespace: 'vms', name: 'web' };
const RECORDED = withRecord(aVm(), aRecord());
const BY_ANOTHER = withRecord(
  aVm(),
  aRecord((record) => ({ ...record, attempt: 1 })),
);

/** A Migration whose one VM has an end in its status with these leftovers; undefined: it has no end. */
const showing = (leftovers?: readonly string[]): PlanMigration =>
  aPlanMigration((one) => ({
    ...one,
    status: {
      started: seconds(0),
      vms: [
        {
          ...ENTRY,
          ...(leftovers && { completed: seconds(0), conditions: [{ type: 'Failed', items: leftovers }] }),
        },
      ],
    } as unknown as NonNullable<PlanMigration['status']>,
  }));

const OVER = annotated(
  LIVE_ANNOTATION.over,
  'uid-of-migration',
)({ ...showing(['x']), status: { ...showing(['x']).status, completed: seconds(0) } });

const conflict = (): ApiError => new ApiError('replace', { code: 409, reason: 'Conflict' }, new Date());

/** An API server of which so many writes (`conflicts`) come too late. */
const apiWith = (object: object | undefined, written: object[], conflicts = 0): ApiServer =>
  ({
    get: (_type: ResourceType, { name }: { readonly name: string }) =>
      object === undefined
        ? Promise.reject(
            new ApiError('get', { code: 404, reason: 'NotFound', details: { name } }, new Date()),
          )
        : Promise.resolve({ object, date: new Date() }),
    replace: (_type: ResourceType, next: object) => {
      conflicts -= 1;
      if (conflicts >= 0) return Promise.reject(conflict());
      written.push(next);
      return Promise.resolve({ object: next });
    },
  }) as unknown as ApiServer;

interface Case {
  readonly now?: PlanMigration;
  readonly vm: VirtualMachine;
  readonly conflicts?: number;
  readonly wanted: 'goes on' | 'stops' | 'taken off';
}

test.each<[string, Case]>([
  ['stays while the Migration shows no end', { now: showing(), vm: RECORDED, wanted: 'goes on' }],
  ['stays where something is left over', { now: showing(['x']), vm: RECORDED, wanted: 'goes on' }],
  ['goes where the run is over with something left', { now: OVER, vm: RECORDED, wanted: 'taken off' }],
  ['goes where the end is shown', { now: showing([]), vm: RECORDED, wanted: 'taken off' }],
  [
    'goes where the end is shown, though KubeVirt writes the VM meanwhile',
    { now: showing([]), vm: RECORDED, conflicts: 2, wanted: 'taken off' },
  ],
  [
    'goes where another Migration has the name',
    { now: withUid('another')(showing()), vm: RECORDED, wanted: 'taken off' },
  ],
  ['goes where the Migration is gone', { vm: RECORDED, wanted: 'taken off' }],
  ['stays where another call has written it since', { now: showing([]), vm: BY_ANOTHER, wanted: 'stops' }],
  ['is off already', { now: showing([]), vm: aVm(), wanted: 'stops' }],
])('the first record of a run %s', async (_what, { now, vm, conflicts, wanted }) => {
  const written: VirtualMachine[] = [];
  const clusters = {
    hub: apiWith(now, []),
    source: apiWith(vm, written, conflicts),
    target: apiWith(undefined, []),
  };
  const writes = [{ verb: 'replace', on: 'source', object: RECORDED }] as const;
  const isLate = await withdrawLateRecord(
    { migration: showing(), entry: ENTRY, vmi: undefined, writes },
    clusters,
  );
  const isOff = written.some(({ metadata: { annotations = {} } }) => !(LIVE_ANNOTATION.run in annotations));
  const goesOn = isLate ? 'stops' : 'goes on';
  expect(isOff ? 'taken off' : goesOn).toBe(wanted);
});

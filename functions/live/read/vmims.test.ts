import { expect, test } from '@jest/globals';
import { received, sent } from '../../../test/support/builders/live-run.ts';
import { aRecord, RUN } from '../../../test/support/builders/live.ts';
import { NOW } from '../../../test/support/builders/object.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import type { Reader } from '../../kubernetes/cluster.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { readVmims } from './vmims.ts';

const DATE = new Date(NOW);

/** An API server with these VMIMs, of which the selector finds `labelled`. */
const storing = (labelled: readonly Vmim[], all: readonly Vmim[]): Reader =>
  ({
    list: () => Promise.resolve({ items: labelled, date: DATE, resourceVersion: '1' }),
    get: (_type: unknown, { name }: { name: string }) => {
      const object = all.find(({ metadata }) => metadata.name === name);
      const missing = { code: 404, reason: 'NotFound', message: 'not found', details: { name } };
      return object === undefined
        ? Promise.reject(new ApiError('the request', missing, DATE))
        : Promise.resolve({ object, date: DATE });
    },
  }) as unknown as Reader;

const OWN = received('Running');
const of = (spec: Partial<Vmim['spec']>): Vmim =>
  received('Succeeded', (one) => ({ ...one, spec: { ...one.spec, ...spec } }));
const OTHER_VM = of({ vmiName: 'other' });
const OTHER_ATTEMPT = of({ receive: { migrationID: 'another' } });
const LOCAL: Vmim = { ...OWN, spec: { vmiName: 'web' } };
const EARLIER = received('Failed', (one) => ({ ...one, metadata: { ...one.metadata, name: 'live-web-1' } }));

test.each<[string, Reader, { vmims: readonly Vmim[]; taken: Vmim | undefined }]>([
  ['the one on the target', storing([OWN], [OWN]), { vmims: [OWN], taken: undefined }],
  ['the one on the source', storing([sent('Running')], []), { vmims: [sent('Running')], taken: undefined }],
  ['one without its labels', storing([], [OWN]), { vmims: [OWN], taken: undefined }],
  ['none', storing([], []), { vmims: [], taken: undefined }],
  ['one of its name that moves another VM', storing([], [OTHER_VM]), { vmims: [], taken: OTHER_VM }],
  [
    'one with its labels that moves another VM',
    storing([OTHER_VM], [OTHER_VM]),
    { vmims: [], taken: OTHER_VM },
  ],
  [
    'one of another migration',
    storing([OTHER_ATTEMPT], [OTHER_ATTEMPT]),
    { vmims: [], taken: OTHER_ATTEMPT },
  ],
  ['one that moves the VM within the cluster', storing([], [LOCAL]), { vmims: [], taken: LOCAL }],
  ['one with its labels and another name', storing([EARLIER], []), { vmims: [], taken: undefined }],
])('%s', async (_what, reader, wanted) => {
  const run = { run: RUN, record: aRecord((record) => ({ ...record, attempt: 1 })) };
  expect(await readVmims(reader, { namespace: 'target', name: 'web' }, run)).toEqual(wanted);
});

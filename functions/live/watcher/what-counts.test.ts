import { expect, test } from '@jest/globals';
import { metadata, seconds } from '../../../test/support/builders/object.ts';
import { whatCounts, type Watched } from './what-counts.ts';

const vmi: Watched = { metadata: metadata('web'), status: { phase: 'Running', migrationState: {} } };

const SAME: Record<string, Watched> = {
  'another version': { ...vmi, metadata: { ...vmi.metadata, resourceVersion: '101' } },
  'the guest’s addresses': { ...vmi, status: { ...vmi.status, interfaces: [{ ipAddress: '10.0.0.1' }] } },
  'another annotation': { ...vmi, metadata: { ...vmi.metadata, annotations: { 'example.com/a': 'b' } } },
};
test.each(Object.entries(SAME))('%s is no event', (_, object) => {
  expect(whatCounts(object)).toBe(whatCounts(vmi));
});

const OTHER: Record<string, Watched> = {
  'its phase': { ...vmi, status: { ...vmi.status, phase: 'Succeeded' } },
  'how far its migration is': { ...vmi, status: { ...vmi.status, migrationState: { completed: true } } },
  'its deletion': { ...vmi, metadata: { ...vmi.metadata, deletionTimestamp: seconds(0) } },
  'that it waits for its guest no more': {
    ...vmi,
    metadata: { ...vmi.metadata, annotations: { 'kubevirt.io/create-migration-target': 'true' } },
  },
  'the run strategy': { ...vmi, spec: { runStrategy: 'Halted' } },
};
test.each(Object.entries(OTHER))('%s is one', (_, object) => {
  expect(whatCounts(object)).not.toBe(whatCounts(vmi));
});

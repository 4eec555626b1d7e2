import { expect, test } from '@jest/globals';
import { ATTACKS, HIDING, textsOf } from '../../../test/support/foreign-attacks.ts';
import { metadata, NOW, seconds } from '../../../test/support/builders/object.ts';
import type { KubernetesEvent } from '../objects.ts';
import {
  isAboutMigration,
  refusalKey,
  refusedMigrations,
  type RefusedMigration,
} from './refused-migration.ts';

const anEvent = (message: string, resourceVersion = '7', namespace = 'tenant'): KubernetesEvent => ({
  metadata: { ...metadata('vm0.1'), namespace, resourceVersion },
  involvedObject: { kind: 'VirtualMachineInstance', uid: 'uid-of-vm0' },
  lastTimestamp: seconds(-5),
  message,
});
const refusal = (...events: KubernetesEvent[]): RefusedMigration | undefined =>
  refusedMigrations(events).get(refusalKey('tenant', 'uid-of-vm0'));
const named = (name: string, why: string): string =>
  `virtualmachineinstancemigrations.kubevirt.io "${name}" is forbidden: ${why}`;
const EXCEEDED = 'exceeded quota: objects, requested: count/x=1, used: count/x=1, limited: count/x=1';

test.each<[string, string, Pick<RefusedMigration, 'isByQuota' | 'text'>]>([
  [
    'of an evacuation',
    `Error creating a Migration: ${named('kubevirt-evacuation-x7k2p', EXCEEDED)}`,
    { isByQuota: true, text: EXCEEDED },
  ],
  [
    'of an upgrade',
    `Error creating a Migration for automated workload update: ${named('kubevirt-workload-update-x', EXCEEDED)}`,
    { isByQuota: true, text: EXCEEDED },
  ],
  [
    'that client-go has combined',
    `(combined from similar events): Error creating a Migration: ${named('kubevirt-evacuation-y', EXCEEDED)}`,
    { isByQuota: true, text: EXCEEDED },
  ],
  [
    'by a quota that is not counted',
    `Error creating a Migration: ${named('a', 'status unknown for quota: objects, resources: count/x')}`,
    { isByQuota: true, text: 'status unknown for quota: objects, resources: count/x' },
  ],
  [
    'by a webhook',
    'Error creating a Migration: admission webhook "x" denied the request: exceeded quota: objects',
    { isByQuota: false, text: 'admission webhook "x" denied the request: exceeded quota: objects' },
  ],
])('the refusal of a migration %s', (_, message, want) => {
  expect(isAboutMigration(anEvent(message))).toBe(true);
  expect(refusal(anEvent(message))).toEqual({ at: NOW - 5_000, ...want });
});

test('the newest Event of the namespace counts, whatever their order is', () => {
  const events = [
    anEvent('Error creating a Migration: new', '10'),
    anEvent('Error creating a Migration: old', '9'),
    anEvent('Error creating a Migration: of another tenant', '11', 'other'),
  ];
  expect(refusal(...events)?.text).toBe('new');
});

test('an Event about a pod is no refusal of a migration', () => {
  expect(isAboutMigration(anEvent('Error creating pod: no'))).toBe(false);
});

test.each(ATTACKS)('a text that a tenant wrote, with %s, is safe', (_, attack) => {
  const found = refusal(anEvent(`Error creating a Migration: ${attack}`));
  expect(textsOf(found).filter((text) => HIDING.test(text))).toEqual([]);
});

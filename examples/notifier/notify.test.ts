import { expect, test } from '@jest/globals';
import { CloudEvent } from 'cloudevents';
import { ATTACKS, HIDING } from '../../test/support/foreign-attacks.ts';
import { schemasIn, textOf } from './notify.ts';

const schemas = schemasIn(new URL('../../docs/events/', import.meta.url));

const DATA = {
  name: 'drain-12345678-1',
  uid: 'u',
  kind: 'Drain',
  subject: 'node1',
  reason: 'Quota',
  message: '1 of 2 VMs left is blocked by Quota',
  total: 3,
  done: 1,
  left: 2,
  blocked: 1,
  buckets: { blocked: 1, running: 1 },
};

const text = (data: unknown, type = 'io.kubevirt.mtq.drain.blocked'): string =>
  textOf(new CloudEvent({ source: '/mtq/progress', type, data }), schemas);

test('the text says what happened to what, how far it is, and why', () => {
  expect(text(DATA)).toBe(
    '`Drain of node1 blocked, 1/3: 1 of 2 VMs left is blocked by Quota (kubectl get mprog drain-12345678-1)`',
  );
});

test.each<[string, unknown]>([
  ['another kind than the type says', { ...DATA, kind: 'Upgrade' }],
  ['no counts', { ...DATA, total: undefined }],
  ['a negative count', { ...DATA, left: -1 }],
  ['an unknown bucket', { ...DATA, buckets: { elsewhere: 1 } }],
  ['a text of any length', { ...DATA, message: 'x'.repeat(3_000) }],
  ['a name that is a command', { ...DATA, name: 'x; curl https://forged.example' }],
  ['a name that no object has', { ...DATA, name: 'a..b' }],
  ['no data', undefined],
])('an event with %s is refused', (_, data) => {
  expect(() => text(data)).toThrow('data of io.kubevirt.mtq.drain.blocked');
});

test('an event of another type is refused', () => {
  expect(() => text(DATA, 'io.kubevirt.mtq.drain.forged')).toThrow('no schema for');
});

test.each(ATTACKS)('%s in every text is only code in one line', (_, attack) => {
  const cut = attack.slice(0, 2_000);
  const line = text({ ...DATA, subject: cut, reason: cut, message: cut });
  expect(line).toMatch(/^`Drain of [^`<>\n]+`$/);
  expect(line.replaceAll(/&(?:amp|lt|gt);/g, '')).not.toMatch(/&|\p{M}{5}/u);
  expect(line.search(HIDING)).toBe(-1);
});

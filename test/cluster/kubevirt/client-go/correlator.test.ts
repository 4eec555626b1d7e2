import { describe, expect, test } from '@jest/globals';
import { Correlator, type Correlated, type NewEvent } from './correlator.ts';

const event = (message: string): NewEvent => ({
  metadata: { name: `vm0.${message}`, namespace: 'tenant' },
  involvedObject: { kind: 'VirtualMachineInstance', uid: 'uid-of-vm0' },
  type: 'Warning',
  reason: 'FailedCreate',
  message,
  source: { component: 'virtualmachine-controller' },
  reportingComponent: 'virtualmachine-controller',
  firstTimestamp: 'then',
  lastTimestamp: 'then',
  count: 1,
});

const summary = (correlated: Correlated): string =>
  correlated.kind === 'drop'
    ? 'drop'
    : `${correlated.kind} ${correlated.event.metadata.name} ${correlated.event.count} ${correlated.event.message}`;

/** `count` events with different messages, a second apart. */
const different = (correlator: Correlator, count: number, fromMs = 0): string[] =>
  Array.from({ length: count }, (_, index) =>
    summary(correlator.correlate(event(`m${index}`), fromMs + index * 1000)),
  );

describe("client-go's event correlation", () => {
  test('the tenth different message and all after it are one counted event', () => {
    const written = different(new Correlator(), 12);
    expect(written.slice(0, 9)).toEqual(
      Array.from({ length: 9 }, (_, index) => `create vm0.m${index} 1 m${index}`),
    );
    expect(written.slice(9)).toEqual([
      'create vm0.m9 1 (combined from similar events): m9',
      'count vm0.m9 2 (combined from similar events): m10',
      'count vm0.m9 3 (combined from similar events): m11',
    ]);
  });

  test('the combined event names no reporting component', () => {
    const correlator = new Correlator();
    different(correlator, 9);
    const combined = correlator.correlate(event('m9'), 0);
    expect(combined).toMatchObject({
      kind: 'create',
      event: { source: { component: 'virtualmachine-controller' } },
    });
    expect(combined.kind === 'drop' ? undefined : combined.event).not.toHaveProperty('reportingComponent');
  });

  test('the same message again is counted, under its first name', () => {
    const correlator = new Correlator();
    correlator.correlate(event('m'), 0);
    const again = { ...event('m'), metadata: { name: 'vm0.later', namespace: 'tenant' } };
    expect(summary(correlator.correlate(again, 1000))).toBe('count vm0.m 2 m');
  });

  test('after ten quiet minutes messages are written one by one again', () => {
    const correlator = new Correlator();
    different(correlator, 10);
    expect(summary(correlator.correlate(event('new'), 610_001 + 10_000))).toBe('create vm0.new 1 new');
  });

  test('of one object 25 are written at once, then one in five minutes', () => {
    const correlator = new Correlator();
    const written = different(correlator, 27);
    expect(written.filter((one) => one === 'drop')).toHaveLength(2);
    expect(summary(correlator.correlate(event('m'), 300_000))).not.toBe('drop');
    expect(summary(correlator.correlate(event('n'), 301_000))).toBe('drop');
  });
});

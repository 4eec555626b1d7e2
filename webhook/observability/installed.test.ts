import { describe, expect, jest, test } from '@jest/globals';
import { WEBHOOK } from '../../functions/domain/names.ts';
import { knowsNamespace, warnOfOtherNamespace } from './installed.ts';
import type { ValidatingWebhookConfiguration } from '../tls/resources.ts';

const configuration = (expression: string): ValidatingWebhookConfiguration =>
  ({
    metadata: { name: WEBHOOK.configuration },
    webhooks: [
      { name: WEBHOOK.locked, clientConfig: {}, matchConditions: [{ name: 'tenant-namespace', expression }] },
      { name: WEBHOOK.keys, clientConfig: {} },
    ],
  }) as unknown as ValidatingWebhookConfiguration;

const INSTALLED = configuration("!(request.namespace in ['default', 'kubevirt'])");

describe('knowsNamespace', () => {
  test.each<[string, boolean]>([
    ['kubevirt', true],
    ['openshift-cnv', true],
    ['virt', false],
    ['kubevir', false],
  ])('%s: %s', (namespace, want) => {
    expect(knowsNamespace(INSTALLED, namespace)).toBe(want);
  });
});

test('logs an unknown namespace once, and again when it is unknown again', () => {
  jest.useFakeTimers();
  const lines: string[] = [];
  const readFacts = warnOfOtherNamespace('virt', (_, message) => void lines.push(message));
  for (const expression of ["['kubevirt']", "['kubevirt']", "['virt']", "['kubevirt']"]) {
    readFacts(configuration(expression));
  }
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('KUBEVIRT_NAMESPACE is virt');
  jest.useRealTimers();
});

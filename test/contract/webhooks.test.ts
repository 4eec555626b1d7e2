import { describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  isReserved,
  LABEL,
  OUR_KEYS,
  OUR_USERS,
  SYSTEM_NAMESPACE,
  WEBHOOK,
} from '../../functions/domain/names.ts';
import { readGuardSettings } from '../../functions/runtime/settings.ts';
import { ofKind, found, guardEnvironment, type Webhook } from './rendered.ts';

describe('the webhooks', () => {
  test('are two webhooks in one configuration', () => {
    expect(ofKind('ValidatingWebhookConfiguration').map(({ metadata }) => metadata.name)).toEqual([
      WEBHOOK.configuration,
    ]);
    expect(webhooks().map(({ name }) => name)).toEqual([WEBHOOK.locked, WEBHOOK.keys]);
  });

  test.each([WEBHOOK.locked, WEBHOOK.keys])('%s: fails closed, after a short timeout', (name) => {
    expect(webhook(name)).toMatchObject({
      failurePolicy: 'Fail',
      sideEffects: 'None',
      matchPolicy: 'Equivalent',
      clientConfig: {
        service: { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard', path: '/review', port: 443 },
      },
    });
    expect(webhook(name).timeoutSeconds).toBeLessThanOrEqual(3);
  });

  test('locked: selects namespaces with the label; keys: selects all', () => {
    expect(webhook(WEBHOOK.locked).namespaceSelector).toEqual({ matchLabels: { [LABEL.locked]: 'true' } });
    for (const name of [WEBHOOK.locked, WEBHOOK.keys]) expect(webhook(name).objectSelector).toBeUndefined();
    expect(webhook(WEBHOOK.keys).namespaceSelector).toBeUndefined();
  });

  test.each([
    [WEBHOOK.locked, 'not-our-quota-update'],
    [WEBHOOK.keys, 'not-ours'],
  ])('%s: knows exactly our users', (name, condition) => {
    const users = quotedIn(condition, name).filter((text) => text.startsWith('system:'));
    expect(users.sort()).toEqual([...OUR_USERS].sort());
  });

  test.each([
    ['locked', (): string[] => quotedIn('tenant-namespace', WEBHOOK.locked)],
    ['the policy on VMMRQs', (): string[] => quotedInPolicy('managed-tenant-quota-reserved-namespaces')],
  ])('%s: knows the namespaces that are reserved', (_what, textsOf) => {
    const kubevirt = readGuardSettings(guardEnvironment()).KUBEVIRT_NAMESPACE;
    const texts = textsOf();
    const names = texts.map((text) => (text.endsWith('-') ? `${text}any` : text));
    expect(names).toEqual([
      'default',
      SYSTEM_NAMESPACE,
      kubevirt,
      'kube-any',
      'openshift-any',
      'knative-any',
    ]);
    expect(names.filter((name) => !isReserved({ namespace: name, kubevirtNamespace: kubevirt }))).toEqual([]);
  });

  test('keys: has all our keys on a namespace; locked: has all our keys on a quota', () => {
    const namesIn = (condition: string, name: string): string[] =>
      quotedIn(condition, name).filter((text) => text.startsWith('mtq.'));
    const { namespace, quota } = OUR_KEYS;
    expect(new Set(namesIn('our-keys-change', WEBHOOK.keys))).toEqual(
      new Set([...namespace.annotations, ...namespace.labels, ANNOTATION.breakGlass]),
    );
    expect(namesIn('quota-keys-change', WEBHOOK.locked)).toEqual([...quota.annotations, ...quota.labels]);
  });
});

const webhooks = (): Webhook[] =>
  ofKind('ValidatingWebhookConfiguration').flatMap((object) => object.webhooks ?? []);

const webhook = (wanted: string): Webhook =>
  found(
    webhooks().find(({ name }) => name === wanted),
    `webhook ${wanted}`,
  );

/** The texts in quotes in one of a webhook's CEL expressions, in their order. */
function quotedIn(condition: string, name: string): string[] {
  const { matchConditions } = webhook(name);
  const { expression } = found(
    matchConditions.find((one) => one.name === condition),
    `condition ${condition}`,
  );
  return [...expression.matchAll(/'([^']*)'/g)].map(([, text = '']) => text);
}

/** The texts in quotes in a policy's only CEL expression, in their order. */
function quotedInPolicy(wanted: string): string[] {
  const policy = ofKind('ValidatingAdmissionPolicy').find(({ metadata }) => metadata.name === wanted);
  const { validations } = found(policy, `policy ${wanted}`).spec as { validations: { expression: string }[] };
  return validations.flatMap(({ expression }) =>
    [...expression.matchAll(/'([^']*)'/g)].map(([, text = '']) => text),
  );
}

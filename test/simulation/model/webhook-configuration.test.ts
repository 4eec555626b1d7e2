import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  KUBEVIRT,
  LABEL,
  OUR_USERS,
  SERVICE_ACCOUNT,
  userOf,
  WEBHOOK,
  POD_IDENTITY_LABELS,
} from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { about, aRequest, by, fromTo } from '../../support/builders/admission.ts';
import { aLauncher, podSpec } from '../../support/builders/kubevirt.ts';
import { aNamespace } from '../../support/builders/namespace.ts';
import { aQuota } from '../../support/builders/quota.ts';
import { annotated, labelled, named, ownedBy, unlabelled } from '../../support/builders/object.ts';
import type { AdmissionRequest } from '../../../webhook/admission/admission.ts';
import { guardWebhooks } from './webhook-configuration.ts';

/** The model calls the webhooks of the installed manifest, so it must reject a manifest that it does not model. */

const MANIFEST = readFileSync(
  new URL('../../../config/webhook/validatingwebhookconfiguration.yaml', import.meta.url),
  'utf8',
);

test('the installed manifest is the one that the model knows', () => {
  expect(guardWebhooks().map(({ name, namespaceLabels }) => [name, namespaceLabels])).toEqual([
    [WEBHOOK.locked, { [LABEL.locked]: 'true' }],
    [WEBHOOK.keys, undefined],
  ]);
});

test.each([
  ['a condition', "== 'resourcequotas'", "== 'pods'"],
  ['a reserved prefix', "'openshift-'", "'rancher-'"],
  ['one of our users', 'mtq-system:mtq-guard', 'mtq-system:mtq-guardian'],
  ['a condition more', 'matchConditions:', "matchConditions:\n      - { name: other, expression: 'true' }"],
  ['the failure policy', 'failurePolicy: Fail', 'failurePolicy: Ignore'],
  ['a selector of another kind', 'matchLabels:', 'matchExpressions:'],
  ['an object selector', 'rules:', 'objectSelector: {}\n    rules:'],
  ['another group', "apiGroups: ['']", "apiGroups: ['apps']"],
  ['another version', "apiVersions: ['*']", 'apiVersions: [v1]'],
])('the model does not start with another %s', (_what, from, to) => {
  expect(MANIFEST).toContain(from);
  expect(() => guardWebhooks(MANIFEST.replace(from, to))).toThrow();
});

const [locked, keys] = guardWebhooks();

const matches = (webhook: typeof locked, request: AdmissionRequest, mayOverride = false): boolean =>
  webhook?.conditions.every(({ holds }) => holds(request, () => mayOverride)) === true;

const RAISED = labelled(LABEL.raised)(aQuota());
/** An update that removes the project's label. */
const RELABELLED = { ...about('resourcequotas'), ...fromTo(RAISED, aQuota()) };

describe('the match conditions', () => {
  test.each(['default', 'mtq-system', 'kubevirt', 'kube-system', 'openshift-x', 'knative-serving'])(
    'skip namespace %s',
    (namespace) => {
      expect(matches(locked, aRequest({ namespace }))).toBe(false);
    },
  );

  test.each(['tenant', 'kubevirt-tenant', 'x-kube-system'])('review namespace %s', (namespace) => {
    expect(matches(locked, aRequest({ namespace }))).toBe(true);
  });

  test.each(OUR_USERS)('skip quota updates by %s, and review its quota creates', (user) => {
    expect(matches(locked, aRequest({ ...RELABELLED, ...by(user) }))).toBe(false);
    expect(matches(locked, aRequest({ ...about('resourcequotas'), ...by(user) }))).toBe(true);
  });

  test('review a quota when a key of the project changes, and not when its spec changes', () => {
    expect(matches(locked, aRequest(RELABELLED))).toBe(true);
    expect(
      matches(locked, aRequest({ ...about('resourcequotas/status'), ...fromTo(aQuota(), RAISED) })),
    ).toBe(true);
    const spec = { spec: { hard: { pods: '99' } } };
    const edit = fromTo(RAISED, { ...RAISED, ...spec });
    expect(matches(locked, aRequest({ ...about('resourcequotas'), ...edit }))).toBe(false);
    expect(matches(locked, aRequest(about('resourcequotas')))).toBe(true);
  });

  test('review a pod when it gets or loses a deadline, which changes its scope, and skip other changes', () => {
    const [without, withIt] = [aLauncher(), aLauncher('vm0', podSpec({ activeDeadlineSeconds: 60 }))];
    const update = (...objects: Parameters<typeof fromTo>): boolean =>
      matches(locked, aRequest(fromTo(...objects)));
    expect(update(without, withIt)).toBe(true);
    expect(update(withIt, without)).toBe(true);
    expect(update(without, labelled('changed')(without))).toBe(false);
    expect(update(withIt, labelled('changed')(withIt))).toBe(false);
    expect(matches(locked, aRequest({ ...about('pods/resize'), ...fromTo(without, without) }))).toBe(true);
    expect(matches(locked, aRequest({ ...fromTo(null, without) }))).toBe(true);
  });

  test.each(POD_IDENTITY_LABELS)(
    'review a pod when its label %s changes, which changes the pod identity',
    (key) => {
      const [before, after] = [aLauncher(), labelled(key, 'x')(aLauncher())];
      expect(matches(locked, aRequest(fromTo(before, after)))).toBe(true);
      expect(matches(locked, aRequest(fromTo(after, before)))).toBe(true);
    },
  );

  test('review a pod of KubeVirt when its owner changes, and skip other pods', () => {
    const launcher = { apiVersion: 'v1', kind: 'Pod', name: 'launcher', uid: 'other', controller: true };
    const owned = ownedBy([launcher]);
    for (const pod of [aLauncher(), labelled(KUBEVIRT.launcherLabel, KUBEVIRT.attachment)(aLauncher())]) {
      expect(matches(locked, aRequest(fromTo(pod, owned(pod))))).toBe(true);
    }
    const theirs = unlabelled(KUBEVIRT.launcherLabel)(aLauncher());
    expect(matches(locked, aRequest(fromTo(theirs, owned(theirs))))).toBe(false);
  });

  // A new namespace may have a last attempt, from a backup. The annotation and the label each are a lock.
  test.each([
    ['the lock annotation', annotated(ANNOTATION.lock, 'x'), { isReviewedWhenNew: true, isLock: true }],
    ['the last attempt', annotated(ANNOTATION.lastAttempt, 'x'), { isReviewedWhenNew: false, isLock: false }],
    ['the token', annotated(ANNOTATION.token, 'x'), { isReviewedWhenNew: true, isLock: false }],
    ['the migrations', annotated(ANNOTATION.migrations, 'x'), { isReviewedWhenNew: true, isLock: false }],
    ['the label', labelled(LABEL.locked), { isReviewedWhenNew: true, isLock: true }],
  ])(
    'review %s when it is added or changed, and removed from a lock',
    (_what, change, { isReviewedWhenNew, isLock }) => {
      const [without, withIt] = [aNamespace(), change(aNamespace())];
      const locked = annotated(ANNOTATION.lock, 'y');
      expect(matches(keys, aRequest(fromTo(without, withIt)))).toBe(true);
      expect(matches(keys, aRequest(fromTo(withIt, without)))).toBe(isLock);
      expect(matches(keys, aRequest(fromTo(change(locked(without)), locked(without))))).toBe(true);
      expect(matches(keys, aRequest(fromTo(null, withIt)))).toBe(isReviewedWhenNew);
      expect(matches(keys, aRequest(fromTo(withIt, named('other')(withIt))))).toBe(false);
      expect(matches(keys, aRequest(fromTo(null, without)))).toBe(false);
      expect(
        matches(keys, aRequest({ ...fromTo(without, withIt), ...by(userOf(SERVICE_ACCOUNT.lock)) })),
      ).toBe(false);
      // The right alone is no break-glass.
      expect(matches(keys, aRequest(fromTo(without, withIt)), true)).toBe(true);
    },
  );

  const held = annotated(ANNOTATION.token, 'token-1')(annotated(ANNOTATION.lock, '{}')(aNamespace()));
  const broken = (word: string): Namespace => annotated(ANNOTATION.breakGlass, word)(aNamespace());

  test.each<[string, [Namespace, Namespace], boolean]>([
    ['the token, newly set', [held, broken('token-1')], false],
    ['another token', [held, broken('token-2')], true],
    ['no word', [held, aNamespace()], true],
    ['the token, set before', [annotated(ANNOTATION.breakGlass, 'token-1')(held), broken('token-1')], true],
    ['a lock without a token', [annotated(ANNOTATION.lock, '{')(aNamespace()), broken('unreadable')], false],
    ['any word without a token', [annotated(ANNOTATION.lock, '{')(aNamespace()), broken('')], true],
  ])('handle break-glass with %s', (_what, change, isAsked) => {
    expect(matches(keys, aRequest(fromTo(...change)), true)).toBe(isAsked);
    expect(matches(keys, aRequest(fromTo(...change)))).toBe(true);
  });

  test('review the addition of break-glass, and skip its removal', () => {
    const [without, withIt] = [aNamespace(), broken('token-1')];
    expect(matches(keys, aRequest(fromTo(without, withIt)), true)).toBe(true);
    expect(matches(keys, aRequest(fromTo(withIt, without)))).toBe(false);
  });
});

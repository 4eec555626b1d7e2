import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aQuantityText } from '../../../test/support/builders/arbitraries.ts';
import { NOW, seconds } from '../../../test/support/builders/object.ts';
import { ATTACKS, HIDING } from '../../../test/support/foreign-attacks.ts';
import { aMigration, aVmi } from '../../../test/support/builders/kubevirt.ts';
import { aFailure, exceeded, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import { canonicalKey } from './charged.ts';
import { referenceOf } from '../migration.ts';
import { POLICY, WEBHOOK } from '../names.ts';
import { parseQuantity } from '../quantity.ts';
import type { KubernetesEvent } from '../objects.ts';
import { parsePodRejection, podRejectionsOf, refusalsAfter, type PodRejection } from './pod-rejection.ts';

const said = (text: string): string => `Error creating pod: ${text}`;

/** The text of harvester#3124. */
const REAL =
  'Error creating pod: pods "virt-launcher-vm1-x7k2p" is forbidden: exceeded quota: default-gmp6p, ' +
  'requested: limits.memory=17405661185, used: limits.memory=52216983555, limited: limits.memory=64Gi';

describe('parsePodRejection (F34)', () => {
  test.each([REAL, `(combined from similar events): ${REAL}`])('%s', (message) => {
    expect(parsePodRejection(message)).toEqual({
      kind: 'exceeded',
      quota: 'default-gmp6p',
      requested: new Map([['limits.memory', parseQuantity('17405661185')]]),
      limited: new Map([['limits.memory', parseQuantity('64Gi')]]),
      figures: 'requested limits.memory=16.3Gi, used limits.memory=48.7Gi, limited limits.memory=64Gi',
      text: REAL.slice('Error creating pod: '.length),
    });
  });

  test('the Event of a launcher that Pod Security refuses', () => {
    const text = forbidden('violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false');
    const message = `failed to render launch manifest: failed to create target pod for vmi shop/vm0, it needs a privileged namespace to run: ${text}`;
    expect(parsePodRejection(message)).toEqual({ kind: 'podSecurity', text });
    expect(parsePodRejection(message, 'attachment')).toBeUndefined();
  });

  test.each<[string, PodRejection['kind']]>([
    [
      forbidden('failed quota: q: must specify limits.cpu for: compute; limits.memory for: a,b'),
      'mustSpecify',
    ],
    [forbidden('status unknown for quota: q, resources: limits.cpu,pods'), 'statusUnknown'],
    [forbidden('insufficient quota to consume: requests.cpu'), 'uncovered'],
    [forbidden('insufficient quota to match these scopes: [{PriorityClass In [high]}]'), 'uncovered'],
    [forbidden('maximum memory usage per Container is 1Gi, but limit is 2Gi'), 'limitRange'],
    [
      forbidden('[maximum cpu usage per Pod is 1, but limit is 2, minimum memory usage per Pod is 1]'),
      'limitRange',
    ],
    [forbidden('cpu max limit to request ratio per Container is 2, but provided ratio is 4.0'), 'limitRange'],
    [forbidden('violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'), 'podSecurity'],
    [forbidden("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"), 'policy'],
    [forbidden('unable to validate against any security context constraint: []'), 'policy'],
    ['admission webhook "a.example.com" denied the request: exceeded quota: q, requested: ', 'policy'],
    ['Internal error occurred: failed calling webhook "a.example.com": no endpoints', 'policy'],
    [
      'Pod "virt-launcher-vm0-x" is invalid: spec.containers[0].resources.requests: Invalid value: "1Gi"',
      'policy',
    ],
    ['Unauthorized images are not let in', 'other'],
    // Cut off, or with an invalid amount: no reliable figures.
    [forbidden('exceeded quota: q, requested: pods=1, used: po'), 'policy'],
    [forbidden('exceeded quota: q, requested: pods=many, used: pods=1, limited: pods=1'), 'policy'],
    [forbidden('exceeded quota: q, requested: pods=1,, used: pods=1, limited: pods=1'), 'policy'],
  ])('%s', (text, kind) => {
    expect(parsePodRejection(said(text))).toMatchObject({ kind, text: text.trim() });
  });

  test.each([
    'Error creating attachment pod: pods "hp-volume-x" is forbidden: exceeded quota: q, requested: pods=1',
    'Error creating a Migration: something',
    said('the server was unable to return a response in the time allotted'),
    said('Operation cannot be fulfilled on resourcequotas "q": the object has been modified'),
    said('client rate limiter Wait returned an error: context canceled'),
    said('client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline'),
    said('Unauthorized'),
    said('pods "virt-launcher-vm0-x7k2p" already exists, the server was not able to generate a unique name'),
    said(`admission webhook "${WEBHOOK.locked}" denied the request: the namespace is locked`),
    said(`Internal error occurred: failed calling webhook "${WEBHOOK.locked}": failed to call webhook: EOF`),
    ...Object.values(POLICY).map((name) =>
      said(forbidden(`ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: locked`)),
    ),
    '',
  ])("'%s' says nothing of the target pod", (message) => {
    expect(parsePodRejection(message)).toBeUndefined();
  });

  const aName = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?$/);
  const aKey = fc.constantFrom('pods', 'cpu', 'limits.memory', 'hugepages-2Mi', 'requests.nvidia.com/gpu');

  test('parses any exceeded amounts exactly', () => {
    fc.assert(
      fc.property(
        aName,
        fc.dictionary(aKey, aQuantityText, { minKeys: 1, noNullPrototype: true }),
        (quota, list) => {
          const text = Object.entries(list)
            .toSorted()
            .map((pair) => pair.join('='))
            .join(',');
          const rejection = parsePodRejection(said(exceeded(quota, text)));
          expect(rejection).toMatchObject({ kind: 'exceeded', quota });
          const want = Object.entries(list).map(([key, amount]) => [
            canonicalKey(key),
            parseQuantity(amount),
          ]);
          expect(rejection?.kind === 'exceeded' ? Object.fromEntries(rejection.requested) : {}).toEqual(
            Object.fromEntries(want),
          );
        },
      ),
    );
  });

  test('never throws on any text, and finds no figure that a changed text does not contain', () => {
    const mangled = fc
      .tuple(fc.nat({ max: REAL.length }), fc.nat({ max: 12 }), fc.string({ unit: 'binary', maxLength: 8 }))
      .map(([at, cut, put]) => REAL.slice(0, at) + put + REAL.slice(at + cut));
    fc.assert(
      fc.property(fc.oneof(mangled, fc.string({ unit: 'binary' })), (text) => {
        const rejection = parsePodRejection(text);
        if (rejection?.kind !== 'exceeded') return;
        for (const amount of rejection.requested.values()) expect(amount).toBeGreaterThanOrEqual(0n);
        expect(rejection.quota).not.toMatch(/[\s,]/);
      }),
      { numRuns: 2_000 },
    );
  });
});

const aCandidate = (): Parameters<typeof podRejectionsOf>[0] => ({
  migration: aMigration(),
  blocked: referenceOf(aMigration()),
});

test('podRejectionsOf: of an attachment pod, where the migration waits for that', () => {
  const { migration, blocked: waiting } = aCandidate();
  const events = [
    aFailure(exceeded('launcher', 'pods=1'), -2),
    { ...aFailure(''), message: `Error creating attachment pod: ${exceeded('attachment', 'pods=1')}` },
  ];
  const quotasOf = (lacks?: 'attachment'): (string | undefined)[] =>
    podRejectionsOf({ migration, blocked: { ...waiting, lacks } }, aVmi(), { events, now: NOW }).map(
      (each) => ('quota' in each ? each.quota : undefined),
    );
  expect(quotasOf('attachment')).toEqual(['attachment']);
  expect(quotasOf()).toEqual(['launcher']);
});

test.each<[string, number]>([
  ['within one second', -5],
  ['also before one whose time is in the future', 3_600],
])('podRejectionsOf: the last written comes first, %s', (_, after) => {
  const written = (quota: string, resourceVersion: string, at = -5): ReturnType<typeof aFailure> => {
    const event = aFailure(exceeded(quota, 'pods=1'), at);
    return { ...event, metadata: { ...event.metadata, resourceVersion } };
  };
  const events = [written('first', '99', after), written('last', '1000'), written('between', '101')];
  const quotas = podRejectionsOf(aCandidate(), aVmi(), { events, now: NOW }).map((each) =>
    'quota' in each ? each.quota : '',
  );
  expect(quotas).toEqual(['last', 'between', 'first']);
});

test('podRejectionsOf: of this VM, since the migration began, newest first', () => {
  const events = [
    aFailure(exceeded('first', 'pods=1'), -60),
    aFailure(exceeded('last', 'pods=1'), -5),
    aFailure(exceeded('before', 'pods=1'), -3_603),
    aFailure(exceeded('by-a-clock-behind', 'pods=1'), -3_602),
    { ...aFailure(exceeded('another-vm', 'pods=1')), involvedObject: { uid: 'uid-of-vm1' } },
    { ...aFailure(exceeded('another-reason', 'pods=1')), reason: 'SuccessfulCreate' },
    aFailure('a text of an unknown form', -1),
    aFailure('another one', -30),
  ];
  const found = podRejectionsOf(aCandidate(), aVmi(), { events, now: NOW }).map((each) =>
    'quota' in each ? each.quota : each.text,
  );
  expect(found).toEqual(['a text of an unknown form', 'last', 'another one', 'first', 'by-a-clock-behind']);
});

describe('a failure that should pass', () => {
  const TIMEOUT = 'Internal error occurred: resource quota evaluation timed out';
  /** An Event of this text, from so many seconds after NOW until so many. */
  const between = (first: number, last: number, text = TIMEOUT): KubernetesEvent => ({
    ...aFailure(text, last),
    firstTimestamp: seconds(first),
  });
  const existing = (name: string): string =>
    `pods "virt-launcher-vm0-${name}" already exists, the server was not able to generate a unique name`;

  test.each<[string, KubernetesEvent[], string[]]>([
    ['is a refusal once it lasts for a minute', [between(-70, -10)], [TIMEOUT]],
    ['is none before', [between(-69, -10)], []],
    ['is none as a single Event', [aFailure(TIMEOUT, -5)], []],
    ['counts from the creation of the migration', [between(-9_000, -3_590)], []],
    [
      'lasts with another text too, and the last one counts',
      [between(-95, -90), aFailure(existing('abcde'), -40), aFailure(existing('fghij'), -5)],
      [existing('fghij')],
    ],
    [
      'lasts as combined Events',
      [{ ...between(-95, -5), message: `(combined from similar events): Error creating pod: ${TIMEOUT}` }],
      [TIMEOUT],
    ],
    [
      'goes before an older refusal',
      [aFailure('no pods on Saturdays', -100), between(-95, -5)],
      [TIMEOUT, 'no pods on Saturdays'],
    ],
    [
      'counts from the last refusal',
      [between(-300, -5), aFailure('no pods on Saturdays', -50)],
      ['no pods on Saturdays'],
    ],
    [
      'does not hide a later refusal',
      [between(-95, -35), aFailure('no pods on Saturdays', -5)],
      ['no pods on Saturdays'],
    ],
    [
      'is none by our own lock',
      [between(-95, -5, `admission webhook "${WEBHOOK.locked}" denied the request: no`)],
      [],
    ],
  ])('%s', (_, events, want) => {
    const found = podRejectionsOf(aCandidate(), aVmi(), { events, now: NOW });
    expect(found.map(({ text }) => text)).toEqual(want);
  });
});

describe('an Event with a time in the future', () => {
  const later = (created: number, at: number): KubernetesEvent => {
    const { metadata, ...event } = aFailure(exceeded('forged', 'pods=1'), at);
    return { ...event, metadata: { ...metadata, creationTimestamp: seconds(created) } };
  };

  test.each<[string, number, number, string[]]>([
    ['counts by the time at which it was stored', -10, 3_600, ['forged']],
    ['of before the migration does not count', -3_700, 3_600, []],
    ['within what clocks differ by counts', -3_700, 2, ['forged']],
  ])('%s', (_, created, at, want) => {
    const events = [later(created, at)];
    const found = podRejectionsOf(aCandidate(), aVmi(), { events, now: NOW });
    expect(found.map((each) => ('quota' in each ? each.quota : ''))).toEqual(want);
  });

  test('shows no refusal after the lock', () => {
    const refused = (event: KubernetesEvent): boolean =>
      refusalsAfter({ at: NOW - 20_000, now: NOW }, ['vm0'], [event]).length > 0;
    expect([later(-60, 3_600), later(-60, -10), later(-10, 3_600)].map(refused)).toEqual([false, true, true]);
  });
});

test.each(ATTACKS)('a name in a text, %s, is safe', (_, attack) => {
  const rejection = parsePodRejection(`Error creating pod: ${exceeded(attack, `${attack}=1,pods=1`)}`);
  const quota = rejection !== undefined && 'quota' in rejection ? rejection.quota : '';
  const keys = rejection?.kind === 'exceeded' ? [...rejection.requested.keys()] : [];
  expect([rejection?.text ?? '', quota, ...keys].filter((text) => HIDING.test(text))).toEqual([]);
});

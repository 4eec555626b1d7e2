import { describe, expect, test } from '@jest/globals';
import { EVENT, LABEL, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { readGuardSettings, STEP_NAMES } from '../../functions/runtime/settings.ts';
import { STEPS } from '../../functions/steps.ts';
import { guessPlural } from '../cluster/eventing/source.ts';
import { knative, triggerOf, environmentOf, guardEnvironment, grantedTo } from './rendered.ts';

describe('the Broker', () => {
  test('exists once, and does not make the source wait for the functions', () => {
    expect(knative.brokers.map(({ metadata }) => metadata)).toMatchObject([
      {
        name: 'mtq',
        annotations: {
          'eventing.knative.dev/broker.class': 'MTChannelBasedBroker',
          'messaging.knative.dev/async-handler': 'true',
        },
      },
    ]);
  });

  test('has the address to which unlock, progress and the guard post', () => {
    const ingress = `http://broker-ingress.knative-eventing.svc.cluster.local/${SYSTEM_NAMESPACE}/mtq`;
    expect(environmentOf('unlock')['K_SINK']).toBe(ingress);
    expect(environmentOf('progress')['K_SINK']).toBe(ingress);
    expect(readGuardSettings(guardEnvironment()).K_SINK).toBe(ingress);
  });
});

describe('the Triggers', () => {
  test('exist once for each step', () => {
    const names = knative.triggers.map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(STEP_NAMES.map((step) => `mtq-${step}`).sort());
  });

  test.each(STEPS)(
    '$name: has filters for exactly the events that its code declares',
    ({ name, triggers }) => {
      const { filters, filter, broker, subscriber } = triggerOf(name).spec;
      const wanted = triggers.map((event) => ({ exact: { ...event } }));
      expect(filters).toEqual([{ any: expect.arrayContaining(wanted) }]);
      expect(filters?.[0]?.['any']).toHaveLength(wanted.length);
      expect(filter).toBeUndefined();
      expect(broker).toBe('mtq');
      expect(subscriber).toEqual({ ref: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name } });
    },
  );

  test.each(STEP_NAMES)(
    '%s: tries a delivery four times, then sends the event to the guard as a dead letter',
    (step) => {
      const { timeout: _, ...delivery } = triggerOf(step).spec.delivery ?? {};
      expect(delivery).toEqual({
        retry: 3,
        backoffPolicy: 'linear',
        backoffDelay: 'PT1S',
        deadLetterSink: { uri: `http://mtq-guard.${SYSTEM_NAMESPACE}.svc.cluster.local:8080/dead-letter` },
      });
    },
  );

  test('every one of our event types triggers a step', () => {
    const triggered = new Set(STEPS.flatMap(({ triggers }) => triggers.map(({ type }) => type)));
    const unhandled = Object.values(EVENT).filter((type) => !triggered.has(type));
    expect(unhandled).toEqual([]);
  });
});

describe('the source', () => {
  const RAISED = { matchLabels: { [LABEL.raised]: 'true' } };

  test('watches the kinds that trigger a step, in all namespaces, and sends whole objects', () => {
    const [{ spec }] = knative.sources as [(typeof knative.sources)[number]];
    const kinds = new Set(STEPS.flatMap(({ triggers }) => triggers.flatMap(({ kind }) => kind ?? [])));
    expect(spec).toMatchObject({ mode: 'Resource', namespaceSelector: {} });
    expect(spec.resources.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
    expect(spec.sink).toEqual({
      ref: { apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: 'mtq' },
    });
  });

  test('watches only raised quotas, because otherwise every pod of the cluster would trigger a function', () => {
    const resources = knative.sources.flatMap(({ spec }) => spec.resources);
    const quotas = resources.filter(({ kind }) => kind === 'ResourceQuota');
    expect(quotas.map(({ selector }) => selector)).toEqual([RAISED]);
    expect(resources.filter(({ kind }) => kind === 'Pod')).toEqual([]);
  });

  test('may read what it watches', () => {
    const [{ spec }] = knative.sources as [(typeof knative.sources)[number]];
    expect(spec.serviceAccountName).toBe(SERVICE_ACCOUNT.source);
    for (const { apiVersion, kind } of spec.resources) {
      const [group, resource] = [apiVersion.includes('/') ? apiVersion.split('/')[0] : '', guessPlural(kind)];
      for (const verb of ['get', 'list', 'watch']) {
        expect(grantedTo('source')).toContain(
          `${verb} ${resource}${group === '' ? '' : `.${String(group)}`}`,
        );
      }
    }
  });
});

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';
import { OVERLAYS, renderInstallation, type Overlay } from '../cluster/overlay.ts';
import { METRIC } from '../../webhook/observability/metric-names.ts';

/** The fields that we use (prometheus-operator.dev/docs/api-reference), because its CRDs are not available here. */
interface ServiceMonitor extends KubernetesObject {
  spec: { selector: Selector; endpoints: Record<string, string>[] };
}
interface PrometheusRule extends KubernetesObject {
  spec: { groups: { name: string; rules: Record<string, unknown>[] }[] };
}
interface Service extends KubernetesObject {
  spec: { selector: Record<string, string>; ports: { name: string; port: number; targetPort: string }[] };
}
interface Deployment extends KubernetesObject {
  spec: {
    template: KubernetesObject & {
      spec: { containers: { ports: { name: string; containerPort: number }[] }[] };
    };
  };
}
interface NetworkPolicy extends KubernetesObject {
  spec: { podSelector: Selector; ingress: { ports: { port: number }[]; from?: unknown[] }[] };
}
interface Selector {
  matchLabels: Record<string, string>;
}

const SYSTEM = 'mtq-system';
/** A duration of Prometheus: one or more of these units. */
const DURATION = /^(?:\d+(?:ms|[smhdwy]))+$/;

describe.each(OVERLAYS)('%s with prometheus', (overlay: Overlay) => {
  let objects: KubernetesObject[];
  const one = <T extends KubernetesObject>(apiVersion: string, kind: string, name: string): T => {
    const found = objects.filter(
      (object) => object.apiVersion === apiVersion && object.kind === kind && object.metadata.name === name,
    );
    expect(found).toHaveLength(1);
    expect(found[0]?.metadata.namespace).toBe(SYSTEM);
    return found[0] as T;
  };

  beforeAll(async () => {
    objects = objectsOf(await renderInstallation({ overlay, components: ['prometheus'] }));
  });

  test("the ServiceMonitor selects the guard's Service, and a port at which the guard serves health", () => {
    const { spec } = one<ServiceMonitor>('monitoring.coreos.com/v1', 'ServiceMonitor', 'mtq-guard');
    expect(Object.keys(spec).toSorted()).toEqual(['endpoints', 'selector']);
    expect(spec.endpoints).toEqual([
      { port: 'metrics', path: '/metrics', scheme: 'http', interval: expect.stringMatching(DURATION) },
    ]);
    const services = objects.filter(
      ({ apiVersion, kind, metadata }) =>
        apiVersion === 'v1' && kind === 'Service' && matches(spec.selector, metadata.labels),
    ) as Service[];
    expect(services.map(({ metadata }) => metadata.name)).toEqual(['mtq-guard']);
    const ports = services[0]?.spec.ports ?? [];
    expect(ports.filter(({ name }) => name === 'metrics')).toMatchObject([{ targetPort: 'http' }]);
    expect(new Set(ports.map(({ port }) => port)).size).toBe(ports.length);
    // The earlier ingress rules remain.
    expect(ports.map(({ name }) => name)).toEqual(
      expect.arrayContaining(overlay === 'policy-only' ? ['http'] : ['http', 'https']),
    );
  });

  test('the NetworkPolicy admits only labelled namespaces to that port of the guard', () => {
    const { spec } = one<NetworkPolicy>('networking.k8s.io/v1', 'NetworkPolicy', 'mtq-guard-metrics');
    const guard = one<Deployment>('apps/v1', 'Deployment', 'mtq-guard').spec.template;
    const http = guard.spec.containers[0]?.ports.find(({ name }) => name === 'http')?.containerPort;
    expect(matches(spec.podSelector, guard.metadata.labels)).toBe(true);
    expect(spec.ingress).toEqual([
      {
        ports: [{ protocol: 'TCP', port: http }],
        from: [{ namespaceSelector: { matchLabels: { metrics: 'enabled' } } }],
      },
    ]);
  });

  test('the alerts use existing metrics, and docs/operations.md has the same alerts', () => {
    const { spec } = one<PrometheusRule>('monitoring.coreos.com/v1', 'PrometheusRule', 'mtq-guard');
    expect(Object.keys(spec)).toEqual(['groups']);
    expect(spec.groups).toHaveLength(1);
    const rules = spec.groups.flatMap(({ rules }) => rules);
    const known: string[] = Object.values(METRIC).map(({ name }) => name);
    for (const rule of rules) {
      expect(rule).toEqual({
        alert: expect.stringMatching(/^[A-Za-z]+$/),
        expr: expect.any(String),
        labels: { severity: expect.stringMatching(/^(?:critical|warning)$/) },
        annotations: { summary: expect.stringMatching(/\.$/) },
        ...('for' in rule ? { for: expect.stringMatching(DURATION) } : {}),
      });
      const asked = String(rule['expr']).match(/\bmtq_\w+/g) ?? [];
      expect(asked).not.toEqual([]);
      expect(asked.filter((name) => !known.includes(name))).toEqual([]);
    }
    const docs = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const mentioned = [...docs.matchAll(/^### `(MTQ\w+)`/gm)].map(([, name]) => name);
    expect(mentioned).toEqual(rules.map(({ alert }) => alert));
  });
});

test.each(OVERLAYS)('%s without the component has no object of it', async (overlay) => {
  const text = await renderInstallation({ overlay, components: [] });
  expect(text).not.toMatch(/monitoring\.coreos\.com|name: metrics|mtq-guard-metrics/);
});

function matches({ matchLabels }: Selector, labels: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}

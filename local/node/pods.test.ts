import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { podOf } from './pods.ts';

const service = (template: string): KubernetesObject =>
  parse(`
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: lock, namespace: mtq-system, labels: { networking.knative.dev/visibility: cluster-local } }
spec: { template: ${template} }
`) as KubernetesObject;

const CONTAINER =
  '{ name: user-container, image: an/image:1, env: [{ name: STEP, value: lock }], ' +
  'readinessProbe: { httpGet: { path: /ready, port: 8080 } }, securityContext: { runAsNonRoot: true } }';

describe('the Pod of a Knative Service', () => {
  test('has the template word for word, but for what Knative alone understands', () => {
    const pod = podOf(
      service(
        `{ spec: { serviceAccountName: mtq-lock, containerConcurrency: 20, timeoutSeconds: 10, containers: [${CONTAINER}] } }`,
      ),
    );
    expect(pod.spec).toEqual({
      enableServiceLinks: false,
      serviceAccountName: 'mtq-lock',
      containers: [parse(CONTAINER)],
    });
  });

  test('has its name, its namespace and the label of its pods; not the Service’s own labels', () => {
    const template = `{ metadata: { annotations: { a: '1' }, labels: { l: '2' } }, spec: { containers: [${CONTAINER}] } }`;
    expect(podOf(service(template)).metadata).toEqual({
      name: 'lock',
      namespace: 'mtq-system',
      annotations: { a: '1' },
      labels: { l: '2', 'serving.knative.dev/service': 'lock' },
    });
  });

  test('what the template says wins over a default of Knative', () => {
    const template = `{ spec: { enableServiceLinks: true, containers: [${CONTAINER}] } }`;
    expect(podOf(service(template)).spec['enableServiceLinks']).toBe(true);
  });

  test('a Service that Knative would not take is refused, by name', () => {
    expect(() => podOf(service('{ spec: { containers: [] } }'))).toThrow(/^Service lock: /);
  });
});

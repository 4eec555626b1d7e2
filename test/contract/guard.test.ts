import { describe, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT } from '../../functions/domain/names.ts';
import { readGuardSettings, readSettings, STEP_NAMES } from '../../functions/runtime/settings.ts';
import { ofKind, found, environmentOf, guardPod, guardContainer, guardEnvironment } from './rendered.ts';

describe('the guard', () => {
  test('listens at the addresses that the API server and the Broker use', () => {
    const service = ofKind('Service').find(
      ({ apiVersion, metadata }) => apiVersion === 'v1' && metadata.name === 'mtq-guard',
    );
    const { selector, ports } = service?.spec as {
      selector: Record<string, string>;
      ports: { port: number; targetPort: string }[];
    };
    const { PORT, TLS_PORT } = readGuardSettings(guardEnvironment());
    const named = new Map(guardContainer().ports.map(({ name, containerPort }) => [name, containerPort]));
    expect(ports.map(({ port, targetPort }) => [port, named.get(targetPort)])).toEqual([
      [443, TLS_PORT],
      [8080, PORT],
    ]);
    expect(guardPod().metadata.labels).toMatchObject(selector);
  });

  test('runs as its own service account, within the restricted Pod Security Standard', () => {
    expect(guardPod().spec).toMatchObject({
      serviceAccountName: SERVICE_ACCOUNT.guard,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    const readable = ['dist', '/var/run/secrets/kubernetes.io/serviceaccount'].map(
      (path) => `--allow-fs-read=${path}`,
    );
    const small = ['--max-semi-space-size=1', '--max-old-space-size=112', '--no-opt', '--no-maglev'];
    expect(guardContainer()).toMatchObject({
      command: ['node', '--permission', ...readable, ...small, 'dist/guard.mjs'],
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
    });
  });

  test('keeps at least one replica during drains, evictions and updates', () => {
    const deployment = found(ofKind('Deployment')[0], 'Deployment');
    expect(deployment.spec).toMatchObject({
      replicas: 2,
      strategy: { rollingUpdate: { maxUnavailable: 0 } },
    });
    const labels = guardPod().metadata.labels;
    expect(ofKind('PodDisruptionBudget').map(({ spec }) => spec)).toEqual([
      {
        minAvailable: 1,
        // While no replica is ready, by default none could be evicted.
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: { 'app.kubernetes.io/name': 'mtq-guard' } },
      },
    ]);
    expect(labels).toMatchObject({ 'app.kubernetes.io/name': 'mtq-guard' });
  });

  test('spreads over nodes where it can, and also runs on one node (F18)', () => {
    const { affinity, topologySpreadConstraints, ...spec } = guardPod().spec;
    expect(Object.keys(affinity.podAntiAffinity)).toEqual([
      'preferredDuringSchedulingIgnoredDuringExecution',
    ]);
    expect(topologySpreadConstraints.map(({ whenUnsatisfiable }) => whenUnsatisfiable)).toEqual([
      'ScheduleAnyway',
    ]);
    expect(Object.keys(affinity)).toEqual(['podAntiAffinity']);
    expect(spec).not.toHaveProperty('nodeSelector');
  });

  test('is critical, and our namespace allows critical pods', () => {
    const { priorityClassName } = guardPod().spec;
    const [quota] = ofKind('ResourceQuota');
    expect(quota?.spec).toEqual({
      hard: { pods: expect.any(String) },
      scopeSelector: {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: [priorityClassName] }],
      },
    });
  });

  test('has enough time to shut down', () => {
    const { SHUTDOWN_DELAY_MS } = readGuardSettings(guardEnvironment());
    const { terminationGracePeriodSeconds } = guardPod().spec;
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(SHUTDOWN_DELAY_MS + 10_000);
  });

  test('knows the same KubeVirt as the functions', () => {
    const { KUBEVIRT_NAMESPACE } = readGuardSettings(guardEnvironment());
    for (const step of STEP_NAMES) {
      expect(readSettings(environmentOf(step)).KUBEVIRT_NAMESPACE).toBe(KUBEVIRT_NAMESPACE);
    }
  });
});

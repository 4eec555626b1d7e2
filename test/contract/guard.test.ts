import { describe, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT } from '../../functions/domain/names.ts';
import { readGuardSettings, readSettings, STEP_NAMES } from '../../functions/runtime/settings.ts';
import { ofKind, found, environmentOf, guardPod, guardContainer, guardEnvironment } from './rendered.ts';

describe('the guard', () => {
  test('listens where the API server and the Broker look for it', () => {
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

  test('is never fewer than one, whoever drains, evicts or updates', () => {
    const deployment = found(ofKind('Deployment')[0], 'Deployment');
    expect(deployment.spec).toMatchObject({
      replicas: 2,
      strategy: { rollingUpdate: { maxUnavailable: 0 } },
    });
    const labels = guardPod().metadata.labels;
    expect(ofKind('PodDisruptionBudget').map(({ spec }) => spec)).toEqual([
      { minAvailable: 1, selector: { matchLabels: { 'app.kubernetes.io/name': 'mtq-guard' } } },
    ]);
    expect(labels).toMatchObject({ 'app.kubernetes.io/name': 'mtq-guard' });
  });

  test('spreads where it can, and runs on one node all the same (F18)', () => {
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

  test('is critical, and our namespace may have pods that are', () => {
    const { priorityClassName } = guardPod().spec;
    const [quota] = ofKind('ResourceQuota');
    expect(quota?.spec).toEqual({
      hard: { pods: expect.any(String) },
      scopeSelector: {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: [priorityClassName] }],
      },
    });
  });

  test('has the time that it needs to leave', () => {
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

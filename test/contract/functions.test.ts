import { describe, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { CYCLE_STEPS, readSettings, STEP_NAMES } from '../../functions/runtime/settings.ts';
import { knative, found, serviceOf, triggerOf, environmentOf } from './rendered.ts';

describe('the functions', () => {
  test('are exactly the steps', () => {
    expect(knative.services.map(({ metadata }) => metadata.name).sort()).toEqual([...STEP_NAMES].sort());
  });

  test.each(STEP_NAMES)('%s: names its step, and has settings with which it can start', (step) => {
    expect(readSettings(environmentOf(step)).STEP).toBe(step);
  });

  test.each(STEP_NAMES)('%s: leaves PORT to Knative', (step) => {
    expect(environmentOf(step)).not.toHaveProperty('PORT');
  });

  test.each(STEP_NAMES)('%s: runs as its own service account', (step) => {
    expect(serviceOf(step).spec.template.spec.serviceAccountName).toBe(SERVICE_ACCOUNT[step]);
  });

  test.each(STEP_NAMES)('%s: scales to zero, and is cluster-local', (step) => {
    const { metadata, spec } = serviceOf(step);
    expect(metadata['labels']).toMatchObject({ 'networking.knative.dev/visibility': 'cluster-local' });
    expect(spec.template.metadata?.annotations).toMatchObject({ 'autoscaling.knative.dev/min-scale': '0' });
  });

  test.each(STEP_NAMES)('%s: fits the restricted Pod Security Standard', (step) => {
    expect(serviceOf(step).spec.template.spec.containers[0]).toMatchObject({
      securityContext: {
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
  });

  test('feasibility prewarms the other steps of a cycle at their readiness path', () => {
    const others = CYCLE_STEPS.filter((step) => step !== 'feasibility');
    const urls = others.map(
      (step) => `http://${step}.${SYSTEM_NAMESPACE}.svc.cluster.local${readiness(step)}`,
    );
    expect(readSettings(environmentOf('feasibility')).WAKE_URLS).toEqual(urls);
  });

  test.each(STEP_NAMES)('%s: has a timeout as long as its Trigger waits', (step) => {
    const { timeoutSeconds } = serviceOf(step).spec.template.spec;
    expect(triggerOf(step).spec.delivery?.timeout).toBe(`PT${timeoutSeconds}S`);
    expect(timeoutSeconds).toBeGreaterThan(step === 'feasibility' ? 20 : 5);
  });
});

const readiness = (step: string): string =>
  found(serviceOf(step).spec.template.spec.containers[0]?.readinessProbe?.httpGet?.path, 'readiness probe');

import { describe, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import {
  CYCLE_STEPS,
  readGuardSettings,
  readSettings,
  STEP_NAMES,
  type CycleStepName,
} from '../../functions/runtime/settings.ts';
import { knative, found, guardEnvironment, serviceOf, triggerOf, environmentOf } from './rendered.ts';

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

  const readinessUrls = (steps: readonly CycleStepName[]): string[] =>
    steps.map((step) => `http://${step}.${SYSTEM_NAMESPACE}.svc.cluster.local${readiness(step)}`);

  test('lock waits for the later steps at their readiness path, and no other step waits', () => {
    const later = readinessUrls(CYCLE_STEPS.slice(CYCLE_STEPS.indexOf('lock') + 1));
    for (const step of STEP_NAMES)
      expect(readSettings(environmentOf(step)).WAKE_URLS).toEqual(step === 'lock' ? later : []);
  });

  test('the guard starts the functions of a cycle at their readiness path', () => {
    expect(readGuardSettings(guardEnvironment()).WAKE_URLS).toEqual(readinessUrls(CYCLE_STEPS));
  });

  test.each(STEP_NAMES)('%s: has a timeout as long as its Trigger waits', (step) => {
    const { timeoutSeconds } = serviceOf(step).spec.template.spec;
    expect(triggerOf(step).spec.delivery?.timeout).toBe(`PT${timeoutSeconds}S`);
    expect(timeoutSeconds).toBeGreaterThan(step === 'feasibility' ? 12 : 5);
  });
});

const readiness = (step: string): string =>
  found(serviceOf(step).spec.template.spec.containers[0]?.readinessProbe?.httpGet?.path, 'readiness probe');

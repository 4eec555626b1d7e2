import { expect, test } from '@jest/globals';
import { aHook, aPlan, aVm, RUN } from '../../../test/support/builders/live.ts';
import { annotated } from '../../../test/support/builders/object.ts';
import type { Hook } from '../../domain/live/forklift.ts';
import { accountOf, hookObjects } from './hook-job.ts';
import { runLabels } from './names.ts';

interface Made {
  metadata: { name: string; namespace: string; labels: object; ownerReferences: object[] };
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
  spec?: { suspend: boolean; backoffLimit: number; template: { spec: Record<string, unknown> } };
}

const CANARY = 'canary-password';

const made = (hook: Hook = aHook(), vm = aVm()): [Made, Made] =>
  hookObjects({ run: RUN, step: 'PreHook', hook, plan: aPlan(), vm }) as unknown as [Made, Made];

test('Job and ConfigMap have one name, belong to the plan, and go with it', () => {
  const [files, job] = made();
  for (const { metadata } of [files, job]) {
    expect(metadata).toMatchObject({
      name: files.metadata.name,
      namespace: 'tenant',
      labels: runLabels(RUN),
    });
    expect(metadata.ownerReferences).toEqual([
      { apiVersion: 'forklift.konveyor.io/v1beta1', kind: 'Plan', name: 'plan', uid: 'uid-of-plan' },
    ]);
  }
  expect(job.spec).toMatchObject({
    suspend: true,
    backoffLimit: 1,
    activeDeadlineSeconds: 300,
    template: {
      spec: {
        restartPolicy: 'Never',
        volumes: [{ name: 'hook', configMap: { name: files.metadata.name } }],
        containers: [
          {
            name: 'hook',
            image: 'quay.io/example/runner:1',
            command: [
              '/bin/entrypoint',
              'ansible-runner',
              'run',
              '/tmp/runner',
              '-p',
              '/tmp/hook/playbook.yml',
            ],
            volumeMounts: [{ name: 'hook', mountPath: '/tmp/hook' }],
          },
        ],
      },
    },
  });
  expect(job.spec?.template.spec).not.toHaveProperty('activeDeadlineSeconds');
});

test('without a playbook the image runs its own command; the service account is the hook’s or the plan’s', () => {
  const [files, { spec }] = made(
    aHook((hook) => ({ ...hook, spec: { image: 'own', serviceAccount: 'hooks' } })),
  );
  expect(files.binaryData).toEqual({ 'playbook.yml': '' });
  expect(spec?.template.spec).toMatchObject({ serviceAccountName: 'hooks', containers: [{ image: 'own' }] });
  expect(JSON.stringify(spec)).not.toMatch(/command|activeDeadlineSeconds/);
});

test.each<[string, string | undefined, string | undefined, string | undefined]>([
  ['of the hook', 'own', 'all', 'own'],
  ['of the plan', undefined, 'all', 'all'],
  ['of the namespace, as the hook says', '', 'all', undefined],
  ['of the namespace', undefined, undefined, undefined],
])('the service account is that %s', (_what, ...[ofHook, ofPlan, wanted]) => {
  const hook = aHook((one) => ({
    ...one,
    spec: { ...one.spec, ...(ofHook !== undefined && { serviceAccount: ofHook }) },
  }));
  const plan = aPlan((one) => ({
    ...one,
    spec: { ...one.spec, ...(ofPlan !== undefined && { serviceAccount: ofPlan }) },
  }));
  expect(accountOf(hook, plan)).toBe(wanted);
});

test('the hook gets the VM and the plan without any password', () => {
  const vm = aVm(annotated('kubectl.kubernetes.io/last-applied-configuration', CANARY), (one) => {
    const { template } = one.spec;
    const volumes = [
      { name: 'a', cloudInitNoCloud: { userData: CANARY, networkData: CANARY, secretRef: { name: 'user' } } },
      { name: 'b', cloudInitConfigDrive: { userDataBase64: CANARY, networkDataBase64: CANARY } },
      { name: 'c', sysprep: { inline: CANARY } },
    ];
    return { ...one, spec: { ...one.spec, template: { ...template, spec: { ...template.spec, volumes } } } };
  });
  const [{ data }] = made(aHook(), vm);
  expect(JSON.stringify(data)).not.toContain(CANARY);
  expect(JSON.parse(data?.['workload.yml'] ?? '')).toMatchObject({
    metadata: { name: 'web' },
    spec: {
      template: {
        spec: { volumes: [{ cloudInitNoCloud: { secretRef: { name: 'user' } } }, {}, { name: 'c' }] },
      },
    },
  });
  expect(JSON.parse(data?.['plan.yml'] ?? '')).toEqual(aPlan().spec);
});

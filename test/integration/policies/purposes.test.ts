import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KUBEVIRT, POLICY } from '../../../functions/domain/names.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  newMigration,
  newVirtualMachineInstance,
} from '../../cluster/kubevirt/objects/objects.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import { startPolicyWorld, type PolicyWorld } from '../../support/policies/policy-world.ts';

/** The policy alone on the real API server. Every request is a dry run. */

const NAMESPACE = 'tenant';
const PATH = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}`;
const MARKS = [KUBEVIRT.evacuation, KUBEVIRT.workloadUpdate] as const;

let world: PolicyWorld;

beforeAll(async () => {
  world = await startPolicyWorld();
  await world.installPolicies(await render('config/base'), POLICY.purposes);
  await world.tenant(NAMESPACE, {}, []);
  const vm = { namespace: NAMESPACE, name: 'vm0' };
  await world.admin.create(FULL_VMIS, newVirtualMachineInstance(vm));
  const annotations = Object.fromEntries(MARKS.map((mark) => [mark, 'node1']));
  for (const migration of [{ name: 'plain' }, { name: 'marked', annotations }])
    await world.admin.create(
      FULL_MIGRATIONS,
      newMigration({ namespace: NAMESPACE, vmi: 'vm0', ...migration }),
    );
});

afterAll(async () => {
  await world.stop();
});

const create = (annotations: Readonly<Record<string, string>>): ApiRequest => ({
  method: 'POST',
  path: `${PATH}/${FULL_MIGRATIONS.plural}?dryRun=All`,
  body: {
    apiVersion: 'kubevirt.io/v1',
    kind: FULL_MIGRATIONS.kind,
    ...newMigration({ namespace: NAMESPACE, name: 'new', vmi: 'vm0', annotations }),
  },
});
const patch = (what: string, metadata: object): ApiRequest => ({
  method: 'PATCH',
  path: `${PATH}/${what}?dryRun=All`,
  body: { metadata },
  contentType: 'application/merge-patch+json',
});
const migration = (name: string, annotations: object): ApiRequest =>
  patch(`${FULL_MIGRATIONS.plural}/${name}`, { annotations });
const vmi = (labels: object): ApiRequest => patch(`${FULL_VMIS.plural}/vm0`, { labels });

const MARKING: Record<string, ApiRequest> = {
  ...Object.fromEntries(
    MARKS.flatMap((mark) => [
      [`a migration with ${mark}`, create({ [mark]: 'node1' })],
      [`${mark} on a migration that exists`, migration('plain', { [mark]: 'node1' })],
      [`another node in ${mark}`, migration('marked', { [mark]: 'node2' })],
      [`the end of ${mark}`, migration('marked', { [mark]: null })],
    ]),
  ),
  'the label of an outdated launcher': vmi({ [KUBEVIRT.outdatedLauncher]: '' }),
};

describe(POLICY.purposes, () => {
  test.each(Object.entries(MARKING))('refuses a tenant: %s', async (_, request) => {
    expect(await world.ask('editor', request)).toMatchObject({
      by: POLICY.purposes,
      code: 403,
      text: expect.stringMatching(
        /^kubevirt\.io\/\S+ may only be written by KubeVirt and by users who may patch nodes, .*; to migrate a VM yourself, leave it out$/,
      ),
    });
  });

  test.each(Object.entries(MARKING))(
    'allows virt-controller, which may patch nodes: %s',
    async (_, request) => {
      expect(await world.ask('kubevirt', request)).toEqual({ by: 'none' });
    },
  );

  test.each<[string, ApiRequest]>([
    ['a migration without marks', create({})],
    ['a migration with another annotation', create({ 'example.com/ticket': '7' })],
    ['another annotation on a marked migration', migration('marked', { 'example.com/ticket': '7' })],
    ['another label of a VMI', vmi({ app: 'web' })],
  ])('allows a tenant: %s', async (_, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'none' });
  });
});

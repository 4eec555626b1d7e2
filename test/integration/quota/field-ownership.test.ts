import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, FIELD_MANAGER, LABEL } from '../../../functions/domain/names.ts';
import type { ManagedFieldsEntry, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { isEnforced } from '../../../functions/domain/quota/enforced.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { migrate } from '../../support/kubevirt/rig.ts';
import { breaches, wasRaised } from '../../support/invariants.ts';
import { newKubectl, type Kubectl, type Said } from '../../support/kubectl.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { countedPods, fullFor, newTenant, type Tenant } from '../../support/tenant.ts';

let lab: Lab;
let kubectl: Kubectl;

beforeAll(async () => {
  lab = await startLab();
  kubectl = await newKubectl(lab.cluster.controlPlane.adminKubeconfig);
});

afterAll(async () => {
  await lab.stop();
});

const FULL = fullFor(1);
const aQuota = (namespace: string, hard: ResourceList): object => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { namespace, name: 'quota' },
  spec: { hard },
});

/** A person or a program that keeps the quota in Git, and applies it by this name. */
const applier =
  (manager: string, ...flags: readonly string[]) =>
  (namespace: string, hard: ResourceList): Promise<Said> =>
    kubectl(
      ['apply', '--server-side', '--output=json', `--field-manager=${manager}`, ...flags, '-f', '-'],
      aQuota(namespace, hard),
    );
const flux = applier('flux');
const argo = applier('argo');
const byHand = (namespace: string, hard: ResourceList): Promise<Said> =>
  kubectl(['apply', '-f', '-'], aQuota(namespace, hard));

const versionIn = (said: Said | undefined): ResourceQuota => JSON.parse(said?.stdout ?? '') as ResourceQuota;

const done = expect.objectContaining({ code: 0 });

const newest = async ({ name }: Tenant): Promise<ResourceQuota> =>
  (await lab.admin.get(RESOURCE_QUOTAS, { namespace: name, name: 'quota' })).object;
const hardOf = async (tenant: Tenant): Promise<ResourceList> => (await newest(tenant)).spec.hard ?? {};

/** Who owns what of the spec, times and all. */
const ofSpec = ({ metadata }: ResourceQuota): ManagedFieldsEntry[] =>
  (metadata.managedFields ?? []).filter(({ fieldsV1 }) => fieldsV1?.['f:spec'] !== undefined);

/** The namespace with a VM, and the quota as `make` makes it. */
async function newTenantWith(name: string, make: (namespace: string) => Promise<unknown>): Promise<Tenant> {
  const tenant = await newTenant(lab, { name, quotas: {} });
  await make(name);
  await tenant.history.until('the quota is enforced', (history) => {
    const quota = history.latest(RESOURCE_QUOTAS);
    return quota?.status?.used !== undefined && isEnforced(quota);
  });
  return tenant;
}

const isRaised = ({ metadata }: ResourceQuota): boolean => metadata.labels?.[LABEL.raised] === 'true';

/** One whole release; resolves with who owned what before and after. */
async function release(tenant: Tenant): Promise<Record<'before' | 'after', ResourceQuota>> {
  const before = await newest(tenant);
  await tenant.migrate();
  await tenant.untilUnlocked();
  const after = await newest(tenant);
  await tenant.history.heardOf([after]);
  expect(tenant.history.of(RESOURCE_QUOTAS).some(isRaised)).toBe(true);
  expect(breaches(tenant.history)).toEqual([]);
  return { before, after };
}

describe('two appliers, server-side', () => {
  let tenant: Tenant;
  const { 'requests.cpu': cpu = '', ...rest } = FULL;

  beforeAll(async () => {
    let shared: Said | undefined;
    tenant = await newTenantWith('two-appliers', async (namespace) => {
      expect(await flux(namespace, FULL)).toEqual(done);
      shared = await argo(namespace, { 'requests.cpu': cpu });
    });
    tenant.history.noteForeign(versionIn(shared));
  });

  test('own after a release what they owned before, and we own nothing of the spec', async () => {
    const { before, after } = await release(tenant);
    expect(ofSpec(before).map(({ manager }) => manager)).toEqual(['argo', 'flux']);
    expect(ofSpec(after)).toEqual(ofSpec(before));
    expect(after.spec).toEqual(before.spec);
  });

  test('apply again without a conflict, and without --force-conflicts', async () => {
    expect(await flux(tenant.name, FULL)).toEqual(done);
    expect(await argo(tenant.name, { 'requests.cpu': cpu })).toEqual(done);
    expect(await hardOf(tenant)).toEqual(FULL);
  });

  test('which leaves our last-release where it is: they never mention it, and it is ours', async () => {
    const { metadata } = await newest(tenant);
    expect(metadata.annotations).toHaveProperty([ANNOTATION.lastRelease]);
    const ours = (metadata.managedFields ?? []).filter(({ manager }) => manager === FIELD_MANAGER);
    expect(ours.map(({ fieldsV1 }) => fieldsV1)).toEqual([
      { 'f:metadata': { 'f:annotations': { '.': {}, [`f:${ANNOTATION.lastRelease}`]: {} } } },
    ]);
  });

  test('change a value', async () => {
    const { 'requests.memory': _memory, ...others } = FULL;
    expect(await flux(tenant.name, { ...others, 'requests.memory': '5Gi' })).toEqual(done);
    expect(await hardOf(tenant)).toMatchObject({ 'requests.memory': '5Gi' });
  });

  test('remove a key, and it is gone: a shared one when the last of them removes it', async () => {
    expect(await flux(tenant.name, rest)).toEqual(done);
    expect(await hardOf(tenant)).toEqual(FULL);
    expect(await argo(tenant.name, {})).toEqual(done);
    expect(await hardOf(tenant)).toEqual(rest);
    const { pods = '' } = rest;
    expect(await flux(tenant.name, { pods })).toEqual(done);
    expect(await hardOf(tenant)).toEqual({ pods });
  });
});

test("kubectl's client-side apply: its record and its ownership stay, and a key can be changed and removed", async () => {
  const tenant = await newTenantWith('client-side', async (namespace) => {
    expect(await byHand(namespace, FULL)).toEqual(done);
  });
  const { before, after } = await release(tenant);
  expect(ofSpec(after)).toEqual(ofSpec(before));
  const { [ANNOTATION.lastRelease]: _, ...annotations } = after.metadata.annotations ?? {};
  expect(annotations).toEqual(before.metadata.annotations);

  const { 'requests.cpu': _cpu, ...rest } = FULL;
  expect(await byHand(tenant.name, { ...rest, 'requests.memory': '5Gi' })).toEqual(done);
  expect(await hardOf(tenant)).toEqual({ ...rest, 'requests.memory': '5Gi' });
});

test('made by a POST and changed by a PUT: both own what they set, before and after', async () => {
  let put: Said | undefined;
  const tenant = await newTenantWith('put-and-post', async (namespace) => {
    const hard = { ...FULL, 'requests.cpu': '9' };
    await lab.admin.create(RESOURCE_QUOTAS, { metadata: { namespace, name: 'quota' }, spec: { hard } });
    const replace = ['replace', '--field-manager=somebody-else', '--output=json', '-f', '-'];
    put = await kubectl(replace, aQuota(namespace, FULL));
  });
  tenant.history.noteForeign(versionIn(put));
  const { before, after } = await release(tenant);
  expect(ofSpec(before).map(({ manager }) => manager)).toEqual(['admin', 'somebody-else']);
  expect(ofSpec(after)).toEqual(ofSpec(before));
});

test('a raise is remembered for two releases: the second hands back what the first did', async () => {
  const tenant = await newTenantWith('twice', async (namespace) => {
    expect(await flux(namespace, FULL)).toEqual(done);
  });
  const { before } = await release(tenant);
  await tenant.untilThrough();
  await tenant.history.until('the source pod is counted out', () => countedPods(tenant) === '1');
  await migrate(lab.admin, { namespace: tenant.name, name: 'again', vmi: 'vm0' });
  await tenant.history.until(
    'it is locked and let go of again',
    (history) => history.locks().length === 2 && !history.isLocked(),
  );
  expect(ofSpec(await newest(tenant))).toEqual(ofSpec(before));
});

test('who takes a key by force in the middle keeps it, with the value; the others get theirs back', async () => {
  const tenant = await newTenantWith('by-force', async (namespace) => {
    expect(await flux(namespace, FULL)).toEqual(done);
    expect(await argo(namespace, { 'requests.cpu': FULL['requests.cpu'] ?? '' })).toEqual(done);
  });
  const before = await newest(tenant);
  const lowerAgain = lab.hold(tenant.name, 'mtq-lower');
  await tenant.migrate();
  await tenant.history.until(
    'the target pod is charged',
    (history) => wasRaised(history) && countedPods(tenant) === '2',
  );

  // The guard refuses everybody's edit while the namespace is locked: an administrator breaks the glass first.
  const force = applier('emergency', '--force-conflicts');
  expect(await force(tenant.name, { 'requests.cpu': '7' })).toMatchObject({ code: 1 });
  // And its watchdog would put a quota without a lock back before a slow kubectl has said what it wants.
  await lab.cluster.killGuard();
  await lab.admin.patch(
    NAMESPACES,
    { name: tenant.name },
    {
      merge: {
        metadata: { annotations: { [ANNOTATION.lock]: null }, labels: { [LABEL.locked]: null } },
      },
    },
  );
  expect(await force(tenant.name, { 'requests.cpu': '7' })).toEqual(done);
  expect((await newest(tenant)).metadata.annotations).toHaveProperty([ANNOTATION.grant]);
  await lab.cluster.startGuard();
  lowerAgain();
  await tenant.history.until('the grant is gone', (history) => {
    const quota = history.latest(RESOURCE_QUOTAS);
    return quota !== undefined && !isRaised(quota);
  });

  const after = await newest(tenant);
  expect(after.spec.hard).toEqual({ ...FULL, 'requests.cpu': '7' });
  const ownersOf = (quota: ResourceQuota, key: string): unknown[] =>
    ofSpec(quota)
      .filter(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:hard']?.[`f:${key}`] !== undefined)
      .map(({ manager }) => manager);
  expect(ownersOf(before, 'requests.cpu')).toEqual(['argo', 'flux']);
  expect(ownersOf(after, 'requests.cpu')).toEqual(['emergency']);
  expect(ownersOf(after, 'requests.memory')).toEqual(['flux']);
  expect(ownersOf(after, 'pods')).toEqual(['flux']);
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { LIVE_ANNOTATION, MOVED_POLICY } from '../../../functions/domain/live/names.ts';
import { VIRTUAL_MACHINES } from '../../../functions/kubernetes/live-resources.ts';
import { withRecord, type RunRecord } from '../../../functions/live/run/record.ts';
import { LIVE_REFUSAL } from '../../../webhook/admission/messages.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import { newVirtualMachine, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import { aRecord } from '../../support/builders/live.ts';
import { seconds } from '../../support/builders/object.ts';
import { startPolicyWorld, type PolicyWorld } from '../../support/policies/policy-world.ts';

/** The policy alone on the real API server, as config/live-member installs it. Every request is a dry run. */

const NAMESPACE = 'tenant';
const PLACE = '{"vm":"target/moved"}';
const MOVED = { [LIVE_ANNOTATION.movedTo]: PLACE };

let world: PolicyWorld;

async function vm(
  name: string,
  annotations: Readonly<Record<string, string>>,
  status: object = {},
): Promise<void> {
  const made = newVirtualMachine({ namespace: NAMESPACE, name, claims: [], runStrategy: 'Halted' });
  await world.admin.create(VMS, { ...made, metadata: { ...made.metadata, annotations } });
  await world.admin.patch(VMS, { namespace: NAMESPACE, name }, { merge: { status }, subresource: 'status' });
}

/** Creates a VM with a record. `of`: the uid of the VM in it, if that is another one. */
async function recorded(name: string, different: Partial<RunRecord>, of?: string): Promise<void> {
  await vm(name, {});
  const { object } = await world.admin.get(VIRTUAL_MACHINES, { namespace: NAMESPACE, name });
  const record = aRecord((one) => ({ ...one, ...different, vm: of ?? object.metadata.uid }));
  await world.admin.replace(VIRTUAL_MACHINES, withRecord(object, record));
}

beforeAll(async () => {
  world = await startPolicyWorld();
  await world.tenant(NAMESPACE, {}, []);
  await vm('plain', {});
  await vm('moved', MOVED);
  await vm('asked', MOVED, { stateChangeRequests: [{ action: 'Start' }] });
  await recorded('arrived', { arrivedAt: seconds(9) });
  await recorded('under-way', {});
  await recorded('copied', { arrivedAt: seconds(9) }, 'another');
  await world.installPolicies(await render('config/live-member'));
});

afterAll(async () => {
  await world.stop();
});

const patch = (name: string, merge: object, subresource = ''): ApiRequest => ({
  method: 'PATCH',
  path: `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachines/${name}${subresource}?dryRun=All`,
  body: merge,
  contentType: 'application/merge-patch+json',
});
const start = (name: string, subresource = '/status'): ApiRequest =>
  patch(name, { status: { stateChangeRequests: [{ action: 'Start' }] } }, subresource);
/** As `kubectl replace` and a GitOps tool's replace write the whole object, without annotations that their file lacks. */
async function replace(name: string, runStrategy: string): Promise<ApiRequest> {
  const { object } = await world.admin.get(VMS, { namespace: NAMESPACE, name });
  const { annotations: _annotations, ...metadata } = object.metadata;
  const path = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}/virtualmachines/${name}?dryRun=All`;
  return { method: 'PUT', path, body: { ...object, metadata, spec: { ...object.spec, runStrategy } } };
}
const annotate = (to: string | null): object => ({ annotations: { [LIVE_ANNOTATION.movedTo]: to } });

describe(MOVED_POLICY, () => {
  test.each<[string, ApiRequest]>([
    ['as virt-api starts one that is Halted', patch('moved', { spec: { runStrategy: 'Always' } })],
    ['another strategy', patch('moved', { spec: { runStrategy: 'RerunOnFailure' } })],
    ['the older form', patch('moved', { spec: { runStrategy: null, running: true } })],
    ['as virt-api starts one of another strategy', start('moved')],
    [
      'a start with another place',
      patch('moved', { metadata: annotate('{}'), spec: { runStrategy: 'Always' } }),
    ],
    [
      'a start that removes the annotation',
      patch('moved', { metadata: annotate(null), spec: { runStrategy: 'Always' } }),
    ],
  ])('refuses to start a VM that has moved: %s', async (_, request) => {
    for (const user of ['editor', 'cluster-admin', 'kubevirt'])
      expect(await world.ask(user, request)).toMatchObject({ by: MOVED_POLICY, code: 403 });
  });

  test('says where the VM is, and how to start this one', async () => {
    const wanted = LIVE_REFUSAL.moved({ namespace: NAMESPACE, name: 'moved' });
    expect(await world.ask('editor', start('moved'))).toMatchObject({ text: wanted });
    expect(wanted).not.toContain(PLACE);
    expect(wanted).toContain(`kubectl annotate vm moved -n ${NAMESPACE} ${LIVE_ANNOTATION.movedTo}-`);
  });

  test('refuses a start that writes the whole VM without the annotation, and admits that of one that stays off', async () => {
    expect(await world.ask('editor', await replace('moved', 'Always'))).toMatchObject({ by: MOVED_POLICY });
    expect(await world.ask('editor', await replace('moved', 'Halted'))).toEqual({ by: 'none' });
  });

  test('refuses to start a VM whose record has the arrival of its guest, such as of a run that was given up', async () => {
    const wanted = LIVE_REFUSAL.arrived({ namespace: NAMESPACE, name: 'arrived' });
    for (const request of [start('arrived'), await replace('arrived', 'Always')])
      expect(await world.ask('editor', request)).toMatchObject({ by: MOVED_POLICY, text: wanted });
    expect(wanted).toContain(`kubectl annotate vm arrived -n ${NAMESPACE} ${LIVE_ANNOTATION.run}-`);
  });

  test.each<[string, ApiRequest]>([
    ['one whose guest has not arrived', start('under-way')],
    ['one with the record of another VM', start('copied')],
    ['a VM that has not moved', patch('plain', { spec: { runStrategy: 'Always' } })],
    ['a start request of one', start('plain')],
    ['the end of the annotation', patch('moved', { metadata: annotate(null) })],
    ['the annotation', patch('plain', { metadata: annotate(PLACE) })],
    ['an edit of a VM that stays off', patch('moved', { metadata: { labels: { tier: 'front' } } })],
    ['another form of off', patch('moved', { spec: { runStrategy: null, running: false } })],
    ['a status without a start', patch('moved', { status: { printableStatus: 'Stopped' } }, '/status')],
    ['a status with a start from before the move', patch('asked', { status: { ready: false } }, '/status')],
    ['the end of that start', patch('asked', { status: { stateChangeRequests: null } }, '/status')],
  ])('admits %s', async (_, request) => {
    expect(await world.ask('kubevirt', request)).toEqual({ by: 'none' });
  });
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ANNOTATION, POLICY, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { EVENTS } from '../../../functions/kubernetes/resources.ts';
import { render } from '../../cluster/controlplane/kustomize.ts';
import type { ApiRequest } from '../../support/environment/api-request.ts';
import { startPolicyWorld, type PolicyWorld } from '../../support/policies/policy-world.ts';

/** The policy alone on the real API server. Every request is a dry run. */

const NAMESPACE = 'tenant';
const VERDICT = { [ANNOTATION.verdict]: '{"reason":"BackOff"}' };

let world: PolicyWorld;

const event = (name: string, annotations: Readonly<Record<string, string>>): object => ({
  metadata: { namespace: NAMESPACE, name, annotations },
  involvedObject: { namespace: NAMESPACE },
  reason: 'Any',
  type: 'Normal',
});

beforeAll(async () => {
  world = await startPolicyWorld();
  await world.tenant(NAMESPACE, {}, []);
  await world.mayEverything(SERVICE_ACCOUNT.feasibility);
  for (const [name, annotations] of Object.entries({ plain: {}, judged: VERDICT }))
    await world.admin.create(EVENTS, event(name, annotations) as never);
  await world.installPolicies(await render('config/base'), POLICY.verdicts);
});

afterAll(async () => {
  await world.stop();
});

const create = (annotations: Readonly<Record<string, string>>): ApiRequest => ({
  method: 'POST',
  path: `/api/v1/namespaces/${NAMESPACE}/events?dryRun=All`,
  body: { apiVersion: 'v1', kind: 'Event', ...event('new', annotations) },
});
const patch = (group: string, name: string, annotations: object): ApiRequest => ({
  method: 'PATCH',
  path: `/${group}/namespaces/${NAMESPACE}/events/${name}?dryRun=All`,
  body: { metadata: { annotations } },
  contentType: 'application/merge-patch+json',
});

const FORGED: Record<string, ApiRequest> = {
  'an Event with a verdict': create(VERDICT),
  'a verdict on an Event that exists': patch('api/v1', 'plain', VERDICT),
  'another verdict': patch('api/v1', 'judged', { [ANNOTATION.verdict]: '{"reason":"NotEnough"}' }),
  'another annotation on an Event with a verdict': patch('api/v1', 'judged', { 'example.com/ticket': '7' }),
  'a verdict through the other API group': patch('apis/events.k8s.io/v1', 'plain', VERDICT),
};

describe(POLICY.verdicts, () => {
  test.each(Object.entries(FORGED))('refuses a tenant: %s', async (_, request) => {
    expect(await world.ask('editor', request)).toMatchObject({
      by: POLICY.verdicts,
      code: 403,
      text: `${ANNOTATION.verdict} may only be written by managed-tenant-quota; to copy or restore an object, leave them out`,
    });
  });

  test.each(Object.entries(FORGED))('allows feasibility: %s', async (_, request) => {
    expect(await world.ask(SERVICE_ACCOUNT.feasibility, request)).toEqual({ by: 'none' });
  });

  test.each<[string, ApiRequest]>([
    ['an Event without a verdict', create({})],
    ['the end of a verdict', patch('api/v1', 'judged', { [ANNOTATION.verdict]: null })],
  ])('allows a tenant: %s', async (_, request) => {
    expect(await world.ask('editor', request)).toEqual({ by: 'none' });
  });
});

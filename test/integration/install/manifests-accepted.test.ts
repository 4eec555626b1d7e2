import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { mapAtMost } from '../../../kubectl/cluster/map-at-most.ts';
import { objectsOf } from '../../cluster/controlplane/kustomize.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { typeOf } from '../../cluster/install.ts';
import { componentsFor, OVERLAYS, renderInstallation } from '../../cluster/overlay.ts';
import { apiRequests, type ApiAnswer } from '../../support/environment/api-request.ts';

/** Kinds whose CRDs are not available here; test/contract/installations.test.ts checks them. */
const FOREIGN = /^(?:[a-z]+\.knative\.dev|cert-manager\.io|monitoring\.coreos\.com)\//;

const AT_ONCE = 8;

let controlPlane: ControlPlane;
let apply: (object: KubernetesObject) => Promise<ApiAnswer>;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  await connect(controlPlane.adminKubeconfig).create(NAMESPACES, { metadata: { name: SYSTEM_NAMESPACE } });
  const request = apiRequests(controlPlane.adminKubeconfig);
  // The same request as `kubectl apply --server-side --dry-run=server --validate=strict`.
  apply = (object) =>
    request({
      method: 'PATCH',
      path: `${pathOf(object)}?dryRun=All&fieldManager=kubectl&fieldValidation=Strict`,
      contentType: 'application/apply-patch+yaml',
      body: object,
    });
});

afterAll(async () => {
  await controlPlane.stop();
});

function pathOf(object: KubernetesObject): string {
  const { apiVersion, plural, namespaced } = typeOf(object);
  const { name, namespace = '' } = object.metadata;
  const root = apiVersion.includes('/') ? 'apis' : 'api';
  return `/${root}/${apiVersion}/${namespaced ? `namespaces/${namespace}/` : ''}${plural}/${name}`;
}

const nameOf = ({ kind = '', metadata }: KubernetesObject): string => `${kind} ${metadata.name}`;

describe.each(OVERLAYS)('%s', (overlay) => {
  test.each([
    ['as it is', []],
    ['with every component', componentsFor(overlay)],
  ])('%s: the API server accepts every object without a warning', async (_what, components) => {
    const objects = objectsOf(await renderInstallation({ overlay, components }));
    const theirs = objects.filter(({ apiVersion = '' }) => !FOREIGN.test(apiVersion));
    const answers = await mapAtMost(AT_ONCE, theirs, async (object) => {
      const { code, warnings, body } = await apply(object);
      return [nameOf(object), code === 200 || code === 201, warnings, code < 300 ? '' : body['message']];
    });
    expect(answers).toEqual(theirs.map((object) => [nameOf(object), true, '', '']));
    expect(theirs.length).toBeGreaterThan(30);
  });
});

test('the API server would refuse a misspelt field', async () => {
  const objects = objectsOf(await renderInstallation({ overlay: 'default', components: [] }));
  const policy = objects.find(({ kind }) => kind === 'NetworkPolicy') as KubernetesObject & { spec: object };
  const { code, body } = await apply({
    ...policy,
    spec: { ...policy.spec, policyType: [] },
  } as KubernetesObject);
  // The API server answers 500 when server-side apply has no type for a field.
  expect([code < 300, body['message']]).toEqual([false, expect.stringContaining('.spec.policyType')]);
});

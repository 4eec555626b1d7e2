import { describe, expect, test } from '@jest/globals';
import {
  HOOKS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  STORAGE_MAPS,
} from '../../functions/kubernetes/live-resources.ts';
import { objectsOf, render } from '../cluster/controlplane/kustomize.ts';
import { parseImage } from '../cluster/image.ts';
import { componentsFor, OVERLAYS, renderInstallation } from '../cluster/overlay.ts';

const KINDS = [PLANS, PLAN_MIGRATIONS, PROVIDERS, STORAGE_MAPS, NETWORK_MAPS, HOOKS];
const GROUP = 'forklift.konveyor.io';

const crds = await render('config/crd-forklift');

describe.each(KINDS)('the CRD of $kind', ({ apiVersion, kind, plural, namespaced }) => {
  test('matches the code’s types', () => {
    const crd = crds.find(({ metadata }) => metadata.name === `${plural}.${GROUP}`);
    expect(crd).toMatchObject({
      kind: 'CustomResourceDefinition',
      spec: {
        group: GROUP,
        scope: namespaced ? 'Namespaced' : 'Cluster',
        names: { kind, plural },
        versions: [{ name: apiVersion.split('/')[1], served: true, storage: true }],
      },
    });
  });
});

test('config/crd-forklift has nothing else', () => {
  expect(crds).toHaveLength(KINDS.length);
});

test.each(OVERLAYS)(
  '%s with every component has none of them: nothing of ours deletes a plan',
  async (overlay) => {
    const image = parseImage('registry.example/mtq:0.1.0');
    const components = componentsFor(overlay);
    const objects = objectsOf(await renderInstallation({ overlay, components, image }));
    const theirs = objects.filter(({ metadata }) => metadata.name.endsWith(GROUP));
    expect(theirs).toEqual([]);
  },
);

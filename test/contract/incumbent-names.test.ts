import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CLUSTER_PREFIX, GROUP, SYSTEM_NAMESPACE, WEBHOOK } from '../../functions/domain/names.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { componentsFor, OVERLAYS, renderInstallation } from '../cluster/overlay.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';

const facts = readFileSync(new URL('../../docs/facts/peers.md', import.meta.url), 'utf8');
const [, listed = ''] = /^## 6\. Names that MTQ installs.*\n([\s\S]*?)In its namespace/m.exec(facts) ?? [];
/** Names of the incumbent's cluster-scoped objects (docs/facts/peers.md §6). */
const INCUMBENT = [...listed.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** The one object that both systems share on purpose. */
const SHARED = `${VMMRQS.plural}.${GROUP}`;

test('the facts list the names of the incumbent', () => {
  expect(INCUMBENT).toEqual(expect.arrayContaining(['mtq-lock', 'mtq-controller', SHARED, 'mtq']));
});

describe.each(OVERLAYS)('cluster-scoped names of %s with every component', (overlay) => {
  let own: string[];

  beforeAll(async () => {
    const all = [componentsFor(overlay), componentsFor(overlay).filter((name) => name !== 'minimal')];
    const texts = await Promise.all(
      all.map((components) => renderInstallation({ overlay, components: [...components] })),
    );
    own = texts
      .flatMap(objectsOf)
      .filter(({ metadata }) => metadata.namespace === undefined)
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== SHARED);
  });

  test('are none of the incumbent’s', () => {
    expect(own.length).toBeGreaterThan(20);
    expect(own.filter((name) => INCUMBENT.includes(name))).toEqual([]);
  });

  test('identify this project', () => {
    const isOurs = (name: string): boolean =>
      name.startsWith(CLUSTER_PREFIX) ||
      name.endsWith(`.${GROUP}`) ||
      [SYSTEM_NAMESPACE, WEBHOOK.configuration, WEBHOOK.liveConfiguration].includes(name);
    expect(own.filter((name) => !isOurs(name))).toEqual([]);
  });
});

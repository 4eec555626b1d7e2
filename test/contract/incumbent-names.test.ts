import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { CLUSTER_PREFIX, GROUP, SYSTEM_NAMESPACE, WEBHOOK } from '../../functions/domain/names.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { objects } from './rendered.ts';

const facts = readFileSync(new URL('../../docs/facts/peers.md', import.meta.url), 'utf8');
const [, listed = ''] = /^## 6\. Names that MTQ installs.*\n([\s\S]*?)In its namespace/m.exec(facts) ?? [];
/** Names of the incumbent's cluster-scoped objects (docs/facts/peers.md §6). */
const INCUMBENT = [...listed.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** The one object that both systems share on purpose. */
const SHARED = `${VMMRQS.plural}.${GROUP}`;

describe('cluster-scoped names', () => {
  const clusterScoped = objects.filter(({ metadata }) => metadata.namespace === undefined);
  const own = clusterScoped.map(({ metadata }) => metadata.name).filter((name) => name !== SHARED);

  test('the facts list the names of the incumbent', () => {
    expect(INCUMBENT).toEqual(expect.arrayContaining(['mtq-lock', 'mtq-controller', SHARED, 'mtq']));
  });

  test('our names and the incumbent’s names are disjoint', () => {
    expect(own.filter((name) => INCUMBENT.includes(name))).toEqual([]);
  });

  test('each of our names identifies this project', () => {
    const isOurs = (name: string): boolean =>
      name.startsWith(CLUSTER_PREFIX) ||
      name.endsWith(`.${GROUP}`) ||
      [SYSTEM_NAMESPACE, WEBHOOK.configuration].includes(name);
    expect(own.filter((name) => !isOurs(name))).toEqual([]);
  });
});

import { describe, expect, test } from '@jest/globals';
import { metadata } from '../../../test/support/builders/object.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { ListedType, Reader, Selection } from '../../kubernetes/cluster.ts';
import { refusingOwnPods } from './cluster-addresses.ts';

type Spec = { readonly hostNetwork?: boolean };

const FOUND: Readonly<Record<string, Spec>> = {
  'Pod status.podIP=10.244.0.5': { hostNetwork: false },
  'Pod status.podIP=fd00::5': {},
  'Pod status.podIP=10.0.0.1': { hostNetwork: true },
  'Service spec.clusterIP=10.96.0.1': {},
};

/** A cluster with pods and a Service, as a real API server selects them. */
const HUB = {
  list: ({ kind, trim }: ListedType<KubernetesObject>, { fieldSelector = '' }: Selection) => {
    const spec = FOUND[`${kind} ${fieldSelector}`];
    const found =
      spec === undefined ? undefined : trim({ metadata: metadata('x'), spec } as KubernetesObject);
    return Promise.resolve({ items: found === undefined ? [] : [found.object] });
  },
} as unknown as Pick<Reader, 'list'>;

describe('a Provider’s server', () => {
  test.each([
    ['a pod', '10.244.0.5', true],
    ['a pod, by IPv6', 'fd00::5', true],
    ['a Service', '10.96.0.1', true],
    ['a node, with pods of its network', '10.0.0.1', false],
    ['elsewhere', '192.0.2.7', false],
  ])('at the address of %s: refused %s → %s', async (_what, address, isRefused) => {
    expect(await refusingOwnPods(HUB, [])(address)).toBe(isRefused);
  });

  test.each(['10.96.0.1', 'fd00::5'])(
    'at %s, in a network that an admin allows, is not refused',
    async (address) => {
      expect(await refusingOwnPods(HUB, ['10.96.0.0/12', 'fd00::/8'])(address)).toBe(false);
    },
  );

  test('connections that are made at once share an answer, and a later one asks again', async () => {
    let lists = 0;
    const counted: typeof HUB = {
      list: (...given) => {
        lists += 1;
        return HUB.list(...given);
      },
    };
    const isRefused = refusingOwnPods(counted, []);
    expect(await Promise.all([isRefused('10.244.0.5'), isRefused('10.244.0.5')])).toEqual([true, true]);
    expect(lists).toBe(2);
    await isRefused('10.244.0.5');
    expect(lists).toBe(4);
  });
});

import { expect, test } from '@jest/globals';
import { Addresses, resolveDestination } from './addresses.ts';

const addresses = new Addresses();
addresses.add('lock.mtq-system.svc.cluster.local', 'http://127.0.0.1:4001');
addresses.add('mtq-guard.mtq-system.svc.cluster.local:8080', 'http://127.0.0.1:4002/');
addresses.add('broker-ingress.knative-eventing.svc.cluster.local', 'http://127.0.0.1:4003');

test.each([
  ['http://lock.mtq-system.svc.cluster.local', 'http://127.0.0.1:4001'],
  ['http://lock.mtq-system.svc.cluster.local:80/', 'http://127.0.0.1:4001/'],
  ['http://lock.mtq-system.svc/health/readiness', 'http://127.0.0.1:4001/health/readiness'],
  ['http://lock.mtq-system/x', 'http://127.0.0.1:4001/x'],
  ['http://mtq-guard.mtq-system.svc:8080/dead-letter', 'http://127.0.0.1:4002/dead-letter'],
  [
    'http://broker-ingress.knative-eventing.svc.cluster.local/mtq-system/mtq',
    'http://127.0.0.1:4003/mtq-system/mtq',
  ],
  [
    'http://lock.mtq-system.svc.cluster.local/a,http://lock.mtq-system/b',
    'http://127.0.0.1:4001/a,http://127.0.0.1:4001/b',
  ],
  ['http://127.0.0.1:1234/x', 'http://127.0.0.1:1234/x'],
  ['https://example.org/x', 'https://example.org/x'],
  ['no URL', 'no URL'],
])('%s is %s', (cluster, local) => {
  expect(addresses.rewrite(cluster)).toBe(local);
});

test('a missing Service has an address without a listener', () => {
  expect(addresses.rewrite('http://mtq-guard.mtq-system.svc/x')).toBe('http://127.0.0.1:9/x');
});

const ref = (apiVersion: string, kind: string) => ({ apiVersion, kind, name: 'n' });

test.each([
  [{ uri: 'http://x.y.svc/z' }, 'http://x.y.svc/z'],
  [{ ref: ref('serving.knative.dev/v1', 'Service') }, 'http://n.mtq-system.svc.cluster.local'],
  [{ ref: ref('v1', 'Service'), uri: '/dead-letter' }, 'http://n.mtq-system.svc.cluster.local/dead-letter'],
  [{ ref: { ...ref('v1', 'Service'), namespace: 'o' } }, 'http://n.o.svc.cluster.local'],
  [
    { ref: ref('eventing.knative.dev/v1', 'Broker') },
    'http://broker-ingress.knative-eventing.svc.cluster.local/mtq-system/n',
  ],
])('%j is %s', (destination, url) => {
  expect(resolveDestination(destination, 'mtq-system')).toBe(url);
});

test.each([{}, { uri: '/relative' }, { ref: ref('apps/v1', 'Deployment') }])(
  '%j has no address',
  (destination) => {
    expect(() => resolveDestination(destination, 'mtq-system')).toThrow();
  },
);

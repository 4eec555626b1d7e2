import { describe, expect, test } from '@jest/globals';
import { aHost, aProvider } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import type { Provider } from '../../domain/live/forklift.ts';
import type { ApiServer, Cluster } from '../../kubernetes/cluster.ts';
import { ApiError, Busy, Unreachable } from '../../kubernetes/errors.ts';
import type { Secret } from '../../kubernetes/live-resources.ts';
import type { RunProvider } from '../run/run-clusters.ts';
import type { Remote } from './remote.ts';
import { identifyCluster, runProviderOf, readProvider } from './providers.ts';
import { orUnknown } from './unknown-cluster.ts';

const URL_OF = 'https://source.example.com:6443';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const aSecret = (data: Record<string, string> = {}, labelled = 'true'): Secret => ({
  metadata: { ...metadata('source'), labels: { 'live.mtq.kubevirt.io/provider': labelled } },
  data: Object.fromEntries(
    Object.entries({ token: 'the token\n', url: URL_OF, ...data }).map(([key, text]) => [key, base64(text)]),
  ),
});

const missing = (): Promise<never> => {
  const status = { code: 404, reason: 'NotFound', details: { name: 'source' } };
  return Promise.reject(new ApiError('GET', status, new Date(0)));
};

/** A hub with these objects. */
const aHub = (provider: Provider | undefined, secret: Secret | undefined): ApiServer =>
  ({
    get: ({ kind }: { kind: string }) => {
      const object = kind === 'Secret' ? secret : provider;
      return object === undefined ? missing() : Promise.resolve({ object, date: new Date(0) });
    },
  }) as unknown as ApiServer;

async function asked(
  provider: Provider | undefined,
  secret?: Secret,
  as?: RunProvider,
): Promise<{ readonly read: Awaited<ReturnType<typeof readProvider>>; readonly remotes: Remote[] }> {
  const remotes: Remote[] = [];
  const at = (remote: Remote): ApiServer => {
    remotes.push(remote);
    return { name: 'remote' } as unknown as ApiServer;
  };
  const reach = { hub: aHub(provider, secret), remotes: { allowLoopback: false, at } };
  const read = await readProvider({ namespace: 'tenant', name: 'source', ...(as && { as }) }, reach);
  return { read, remotes };
}

const at = (url: string): Provider =>
  aProvider('source', (provider) => ({ ...provider, spec: { ...provider.spec, url } }));

describe('readProvider', () => {
  test('the token goes to the URL that Provider and Secret agree about', async () => {
    const { read, remotes } = await asked(aProvider(), aSecret({ 'ca.crt': 'PEM' }));
    expect(read?.cluster).toBeDefined();
    const tenant = aProvider().metadata.namespace;
    expect(remotes).toEqual([{ url: URL_OF, token: 'the token', ca: 'PEM', isInsecure: false, tenant }]);
  });

  test('the hub’s own cluster needs no Secret', async () => {
    const { read, remotes } = await asked(aHost('source'));
    expect(read?.cluster).toBeDefined();
    expect(remotes).toEqual([]);
  });

  test.each<[string, Provider, Provider, boolean]>([
    ['is the same one', aProvider(), aProvider(), true],
    ['is the same one of the hub', aHost('source'), aHost('source'), true],
    ['has another uid', aProvider('destination'), aProvider(), false],
    ['leads to the hub since', aProvider(), aHost('source'), false],
    ['leads to another cluster than the hub since', aHost('source'), aProvider(), false],
  ])('a run that began with it reads it where it %s', async (_what, began, now, isFound) => {
    const { read } = await asked(now, aSecret(), runProviderOf(began));
    expect(read !== undefined).toBe(isFound);
  });

  test.each<[string, Provider, Secret | undefined]>([
    ['without a Secret', aProvider(), undefined],
    ['with a Secret without the label', aProvider(), aSecret({}, 'false')],
    ['with a Secret of another URL', aProvider(), aSecret({ url: 'https://other.example.com' })],
    ['with a Secret without a token', aProvider(), aSecret({ token: '' })],
    ['with a loopback URL', at('https://127.0.0.1:6443'), aSecret({ url: 'https://127.0.0.1:6443' })],
    ['with a link-local URL', at('https://169.254.169.254'), aSecret({ url: 'https://169.254.169.254' })],
    ['without TLS', at('http://source.example.com'), aSecret({ url: 'http://source.example.com' })],
    [
      'with a Secret of another namespace',
      aProvider('source', (provider) => ({
        ...provider,
        spec: { ...provider.spec, secret: { namespace: 'kube-system', name: 'source' } },
      })),
      aSecret(),
    ],
  ])('is not asked %s', async (_, provider, secret) => {
    const { read, remotes } = await asked(provider, secret);
    expect(read?.cluster).toBeUndefined();
    expect(remotes).toEqual([]);
  });

  test('a provider that is gone is none', async () => {
    expect((await asked(undefined)).read).toBeUndefined();
  });
});

describe('ask', () => {
  const failing = (error: Error): Cluster => ({ get: () => Promise.reject(error) }) as unknown as Cluster;
  const refused = (code: number): ApiError => new ApiError('GET', { code }, new Date(0));

  test.each<[string, Error, string]>([
    ['a token that has expired', refused(401), 'unauthorized'],
    ['a token without rights', refused(403), 'forbidden'],
    ['an error of the server', refused(500), 'unreachable'],
    ['a redirect', refused(302), 'unreachable'],
    ['no answer', new Unreachable('no answer'), 'unreachable'],
  ])('%s', async (_, error, kind) => {
    expect((await identifyCluster(failing(error))).answer).toMatchObject({ kind });
  });

  test('a lack of memory here says nothing of the server: the event comes again', async () => {
    await expect(identifyCluster(failing(new Busy('too much')))).rejects.toThrow(Busy);
    await expect(orUnknown('source', Promise.reject(new Busy('too much')))).rejects.toThrow(Busy);
  });
});

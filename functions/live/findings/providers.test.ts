import { describe, expect, test } from '@jest/globals';
import { aHost, aProvider } from '../../../test/support/builders/live.ts';
import type { Provider } from '../../domain/live/forklift.ts';
import { phaseOf, providerFindings, type ProviderView, type SecretView } from './providers.ts';
import { rawText } from '../../../test/support/raw-text.ts';

const URL_OF_SOURCE = 'https://source.example.com:6443';
const SECRET: SecretView = {
  labels: { 'live.mtq.kubevirt.io/provider': 'true' },
  hasToken: true,
  url: URL_OF_SOURCE,
  isInsecure: false,
};

const view = (different: Partial<ProviderView> = {}): ProviderView => ({
  provider: aProvider(),
  secret: SECRET,
  answer: { kind: 'ok' },
  allowLoopback: false,
  ...different,
});
const withSpec = (spec: Partial<Provider['spec']>): Provider =>
  aProvider('source', (one) => ({ ...one, spec: { ...one.spec, ...spec } }));
const withSecret = (different: Partial<SecretView>): ProviderView =>
  view({ secret: { ...SECRET, ...different } });
const summary = (one: ProviderView): string =>
  providerFindings(one)
    .map(({ type, reason }) => [type, reason].map(rawText).filter(Boolean).join(' '))
    .join(', ');
const READY = 'Validated, ConnectionTestSucceeded Tested, InventoryCreated Completed, Ready';

describe('a provider', () => {
  test.each<[string, ProviderView, string, string]>([
    ['that works', view(), READY, 'Ready'],
    [
      'whose Secret has an empty namespace',
      view({ provider: withSpec({ secret: { name: 'source', namespace: '' } }) }),
      READY,
      'Ready',
    ],
    ['of the own cluster, without a Secret', view({ provider: aHost(), secret: undefined }), READY, 'Ready'],
    [
      'of another type',
      view({ provider: withSpec({ type: 'vsphere' }) }),
      'ProviderTypeNotSupported NotSupported',
      'ValidationFailed',
    ],
    [
      'with Submariner, of which nothing would be done',
      view({ provider: withSpec({ settings: { submariner: 'true' } }) }),
      'SettingsNotValid NotValid',
      'ValidationFailed',
    ],
    [
      'without a Secret',
      view({ provider: withSpec({ secret: {} }) }),
      'SecretNotValid NotSet',
      'ValidationFailed',
    ],
    ['whose Secret is gone', view({ secret: undefined }), 'SecretNotValid NotFound', 'ValidationFailed'],
    [
      'whose Secret is in another namespace',
      view({ provider: withSpec({ secret: { name: 'source', namespace: 'kube-system' } }) }),
      'SecretNotValid NotValid',
      'ValidationFailed',
    ],
    [
      'whose Secret was not meant for it',
      withSecret({ labels: {} }),
      'SecretNotValid DataErr',
      'ValidationFailed',
    ],
    [
      'whose Secret has no token',
      withSecret({ hasToken: false }),
      'SecretNotValid DataErr',
      'ValidationFailed',
    ],
    [
      'whose Secret is of another URL',
      withSecret({ url: 'https://other.example.com' }),
      'SecretNotValid DataErr',
      'ValidationFailed',
    ],
    [
      'whose Secret says no URL',
      withSecret({ url: undefined }),
      'SecretNotValid DataErr',
      'ValidationFailed',
    ],
    [
      'that does not answer',
      view({ answer: { kind: 'unreachable' } }),
      'Validated, ConnectionTestFailed Tested',
      'ConnectionFailed',
    ],
    [
      'whose token has expired',
      view({ answer: { kind: 'unauthorized', message: 'Unauthorized' } }),
      'Validated, ConnectionAuthFailed Tested',
      'ConnectionFailed',
    ],
    [
      'whose token may not read VMs',
      view({ answer: { kind: 'forbidden', message: 'cannot list' } }),
      'Validated, ConnectionAuthFailed Tested',
      'ConnectionFailed',
    ],
    [
      'whose certificate is not checked',
      withSecret({ isInsecure: true }),
      'Validated, ConnectionInsecure SkipTLSVerification, ConnectionTestSucceeded Tested, InventoryCreated Completed, Ready',
      'Ready',
    ],
  ])('%s', (_what, ...[one, wanted, phase]) => {
    expect(summary(one)).toBe(wanted);
    expect(phaseOf(providerFindings(one))).toBe(phase);
  });

  test('each problem says what to do', () => {
    const renew = view({ answer: { kind: 'unauthorized', message: 'Unauthorized' } });
    expect(providerFindings(renew).at(-1)).toMatchObject({ suggestion: 'Renew the token in Secret source.' });
    const label = providerFindings(withSecret({ labels: {} }));
    expect(label[0]).toMatchObject({ suggestion: 'Label the Secret live.mtq.kubevirt.io/provider=true.' });
  });
});

describe('a URL', () => {
  const findings = (url: string, allowLoopback = false): string =>
    summary(view({ provider: withSpec({ url }), secret: { ...SECRET, url }, allowLoopback }));

  test.each([
    'https://10.0.0.1:6443',
    'https://[2001:db8::1]',
    'https://api.localhost.example.com',
    'https://1270.example.com',
  ])('%s is one of another cluster', (url) => {
    expect(findings(url)).toBe(READY);
  });

  test.each([
    'http://api.example.com',
    'api.example.com:6443',
    'https://user:password@api.example.com',
    'https://localhost:6443',
    'https://127.0.0.1:6443',
    'https://127.1',
    'https://0x7f000001',
    'https://[::1]:6443',
    'https://[::]',
    'https://[::ffff:127.0.0.1]',
    'https://[fe80::1]',
    'https://169.254.169.254',
    'https://0.0.0.0',
    'https://foo.localhost',
  ])('%s is not', (url) => {
    expect(findings(url)).toBe('UrlNotValid Malformed');
  });

  test('may be of the own machine where that is set', () => {
    expect(findings('https://127.0.0.1:6443', true)).toBe(READY);
  });
});

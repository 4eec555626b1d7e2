import { describe, expect, test } from '@jest/globals';
import { BadSettings, readGuardSettings, readSettings } from './settings.ts';

const SINK = { K_SINK: 'http://broker.example/' };
type Environment = Readonly<Record<string, string | undefined>>;

describe('readSettings', () => {
  test('what is not set has its default', () => {
    expect(readSettings(SINK)).toEqual({
      PORT: 8080,
      PROVIDER_NETWORKS: [],
      K_SINK: 'http://broker.example/',
      SERVICE_ACCOUNT_FOLDER: '/var/run/secrets/kubernetes.io/serviceaccount',
      KUBEVIRT_NAMESPACE: 'kubevirt',
      KUBEVIRT_CONTROLLER: 'kubevirt-controller',
      LOCK_SECONDS: 15,
      STALL_SECONDS: 3,
      LOG_LEVEL: 'info',
      SETTLE_MS: 250,
      LIVE_VMS: 20,
      LIVE_MIGRATION: 'off',
      WAKE_URLS: [],
    });
  });

  test('variables that are set', () => {
    const environment = {
      STEP: 'lock',
      PORT: '0',
      LOCK_SECONDS: '60',
      SETTLE_MS: '250',
      WAKE_URLS: 'http://lock.example/health/readiness,https://raise.example/',
      KUBECONFIG: '/somewhere',
      HOME: '/root',
    };
    expect(readSettings(environment)).toMatchObject({
      STEP: 'lock',
      PORT: 0,
      LOCK_SECONDS: 60,
      SETTLE_MS: 250,
      WAKE_URLS: ['http://lock.example/health/readiness', 'https://raise.example/'],
      KUBECONFIG: '/somewhere',
    });
  });

  test.each<[string, Environment]>([
    ['STEP', { STEP: 'rise' }],
    ['STEP', { STEP: '' }],
    ['PORT', { PORT: 'http' }],
    ['PORT', { PORT: '65536' }],
    ['PORT', { PORT: '-1' }],
    ['PORT', { PORT: '80.5' }],
    ['LOCK_SECONDS', { LOCK_SECONDS: '61' }],
    ['LOCK_SECONDS', { LOCK_SECONDS: '4' }],
    ['LOCK_SECONDS', { LOCK_SECONDS: '30s' }],
    ['STALL_SECONDS', { STALL_SECONDS: '0' }],
    ['SETTLE_MS', { SETTLE_MS: '2001' }],
    ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
    ['KUBECONFIG', { KUBECONFIG: '' }],
    ['KUBEVIRT_NAMESPACE', { KUBEVIRT_NAMESPACE: '' }],
    ['KUBEVIRT_CONTROLLER', { KUBEVIRT_CONTROLLER: '' }],
    ['K_SINK', { K_SINK: 'broker' }],
    ['K_SINK', { K_SINK: 'ftp://broker.example' }],
    ['K_SINK', { K_SINK: undefined, STEP: 'unlock' }],
    ['K_SINK', { K_SINK: undefined }],
    ['WAKE_URLS', { WAKE_URLS: 'http://lock.example/,raise' }],
  ])('%s is wrong in %j: it says which variable, and why', (name, environment) => {
    const read = (): unknown => readSettings({ ...SINK, ...environment });
    expect(read).toThrow(BadSettings);
    expect(read).toThrow(new RegExp(`^${name}[.:].*\\w`));
  });

  test.each(['feasibility', 'lock', 'raise', 'lower'])('%s needs no Broker', (STEP) => {
    expect(readSettings({ STEP })).not.toHaveProperty('K_SINK');
  });

  test('reports every wrong variable at once', () => {
    const read = (): unknown => readSettings({ PORT: 'x', LOCK_SECONDS: '0' });
    expect(read).toThrow(/PORT: .*; LOCK_SECONDS: /);
  });

  test.each(['', ' ', '0x10', '1e1', '+30', '30 ', '١'])("a whole number is not '%s'", (PORT) => {
    expect(() => readSettings({ ...SINK, PORT })).toThrow(BadSettings);
  });
});

describe('readGuardSettings', () => {
  test('what is not set has its default', () => {
    expect(readGuardSettings(SINK)).toMatchObject({
      PORT: 8080,
      ADMISSION: 'webhook',
      TLS_PORT: 8443,
      SWEEP_SECONDS: 30,
      OVERDUE_SECONDS: 5,
      STALL_SECONDS: 3,
      CA_SECONDS: 365 * 86_400,
      CERTIFICATE_SECONDS: 90 * 86_400,
      CA_LEAD_MS: 60_000,
      SHUTDOWN_DELAY_MS: 5_000,
      WAKE_URLS: [],
    });
  });

  test.each<[string, Environment]>([
    ['K_SINK', { K_SINK: undefined }],
    ['ADMISSION', { ADMISSION: 'none' }],
    ['CA_SECONDS', { CA_SECONDS: '2' }],
    ['CERTIFICATE_SECONDS', { CERTIFICATE_SECONDS: '90d' }],
    ['CA_LEAD_MS', { CA_LEAD_MS: '600001' }],
    ['CA_LEAD_MS', { CA_LEAD_MS: '1001', CA_SECONDS: '6', CERTIFICATE_SECONDS: '60' }],
    ['CA_LEAD_MS', { CA_LEAD_MS: '1001', CA_SECONDS: '60', CERTIFICATE_SECONDS: '6' }],
    ['SHUTDOWN_DELAY_MS', { SHUTDOWN_DELAY_MS: '60001' }],
    ['TLS_PORT', { TLS_PORT: 'https' }],
    ['SWEEP_SECONDS', { SWEEP_SECONDS: '0' }],
    ['OVERDUE_SECONDS', { OVERDUE_SECONDS: '11' }],
  ])('%s is wrong in %j: it says which variable, and why', (name, environment) => {
    expect(() => readGuardSettings({ ...SINK, ...environment })).toThrow(new RegExp(`^${name}: .*\\w`));
  });
});

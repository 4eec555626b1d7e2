import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { inCluster, type PodEnvironment } from './in-cluster.ts';

let folder: string;
let now: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mtq-pod-'));
  now = 0;
  writeFileSync(join(folder, 'ca.crt'), 'the CA');
  writeFileSync(join(folder, 'token'), 'first\n');
});

afterEach(() => rmSync(folder, { recursive: true }));

const pod = (more: Partial<PodEnvironment> = {}): PodEnvironment => ({
  host: '10.0.0.1',
  port: '6443',
  folder,
  elapsed: () => now,
  ...more,
});

describe('where', () => {
  test.each<[string, Partial<PodEnvironment>, string]>([
    ['IPv4', {}, 'https://10.0.0.1:6443/'],
    ['IPv6 is bracketed', { host: 'fd00::1' }, 'https://[fd00::1]:6443/'],
    ['a name', { host: 'kubernetes.default' }, 'https://kubernetes.default:6443/'],
    ['the usual port is 443', { port: undefined }, 'https://10.0.0.1/'],
  ])('%s', (_what, more, want) => {
    expect(inCluster(pod(more)).server.href).toBe(want);
  });
});

describe('credentials', () => {
  test('are the CA and the token, without its line feed', async () => {
    expect(await inCluster(pod()).credentials()).toEqual({
      ca: Buffer.from('the CA'),
      headers: { authorization: 'Bearer first' },
    });
  });

  test('a token that was renewed is used a minute later', async () => {
    const { credentials } = inCluster(pod());
    writeFileSync(join(folder, 'token'), 'second');
    now = 59_999;
    expect(await credentials()).toMatchObject({ headers: { authorization: 'Bearer first' } });
    now = 60_000;
    expect(await credentials()).toMatchObject({ headers: { authorization: 'Bearer second' } });
  });
});

const whyNot = (more: Partial<PodEnvironment>): string => {
  try {
    return inCluster(pod(more)).server.href;
  } catch (error) {
    return String(error);
  }
};

describe('a process without the API server does not start, and reports the reason', () => {
  test('not in a cluster, and no KUBECONFIG', () => {
    expect(whyNot({ host: undefined })).toEqual('NoApiServer: KUBECONFIG');
  });

  test.each(['token', 'ca.crt'])('no %s', (file) => {
    rmSync(join(folder, file));
    expect(whyNot({})).toEqual('NoApiServer: SERVICE_ACCOUNT_FOLDER');
  });
});

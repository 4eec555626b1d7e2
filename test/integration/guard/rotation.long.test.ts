import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as dial, type TLSSocket } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SYSTEM_NAMESPACE, WEBHOOK } from '../../../functions/domain/names.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { describeError } from '../../../functions/kubernetes/errors.ts';
import { prove } from '../../../functions/cluster/proof.ts';
import { CERTIFICATES_SECRET } from '../../../webhook/tls/certificates.ts';
import {
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhookConfiguration,
} from '../../../webhook/tls/resources.ts';
import { SERVING_NAMES } from '../../../webhook/tls/renewal.ts';
import { askUntil } from '../../support/eventually.ts';
import { startGuards, type Guards, type Replica } from '../../support/environment/guards.ts';

/**
 * An authority is renewed after 6.7 s of its 10, a certificate after 6 s of its 9. A client here may be slow: it may use the
 * bundle that it read for as long as an authority is published before it signs.
 */
const LIVES = { CA_SECONDS: '10', CERTIFICATE_SECONDS: '9', CA_LEAD_MS: '1500' };
const ROTATIONS = 3;
const CLIENTS = 3;
const TOKEN = 'token-of-the-lock';
const TENANT = 'tenant';
const SECRET = { namespace: SYSTEM_NAMESPACE, name: CERTIFICATES_SECRET };

let guards: Guards;
let replicas: Replica[];
let asRaise: Cluster;

beforeAll(async () => {
  guards = await startGuards({ ...LIVES, SHUTDOWN_DELAY_MS: '3000', OVERDUE_SECONDS: '10' });
  replicas = await Promise.all(['guard-1', 'guard-2'].map((name) => guards.start(name)));
  await guards.lock(TENANT, TOKEN);
  asRaise = await guards.as('raise');
  await askUntil(
    'the guard refuses',
    () => prove(asRaise, { namespace: TENANT, token: TOKEN }),
    ({ proven }) => proven,
  );
});

afterAll(async () => {
  await guards.stop();
});

/** The answers to several clients that repeatedly send a request that only the guard can refuse. */
interface Asked {
  refusals: number;
  /** TLS connections made with a bundle that the client has just read. */
  handshakes: number;
  readonly failures: string[];
}

/** Sends requests about the lock of this token until `work` is done. */
async function askWhile(token: string, work: () => Promise<void>): Promise<Asked> {
  const asked: Asked = { refusals: 0, handshakes: 0, failures: [] };
  const over = new AbortController();
  const loop = async (once: () => Promise<void>): Promise<void> => {
    while (!over.signal.aborted) {
      await once().catch((error: unknown) => asked.failures.push(describeError(error)));
    }
  };
  const refusal = async (): Promise<void> => {
    const proof = await prove(asRaise, { namespace: TENANT, token });
    if (proof.proven) asked.refusals += 1;
    else asked.failures.push(proof.reason);
  };
  // The API server reuses its connections, but each new one must succeed as well.
  const handshake = async (): Promise<void> => {
    const ca = await bundleOf(WEBHOOK.locked);
    await delay(50);
    await handshakeWith(ca);
    asked.handshakes += 1;
  };
  const loops = [...Array.from({ length: CLIENTS }, () => loop(refusal)), loop(handshake)];
  try {
    await work();
  } finally {
    over.abort();
    await Promise.all(loops);
  }
  return asked;
}

async function handshakeWith(ca: string): Promise<void> {
  const socket: TLSSocket = dial({ port: guards.balancer.port, ca, servername: SERVING_NAMES[0] });
  try {
    await once(socket, 'secureConnect');
  } finally {
    socket.destroy();
  }
}

const readConfiguration = async (): Promise<ValidatingWebhookConfiguration> =>
  (await guards.admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration })).object;

async function bundleOf(name: string): Promise<string> {
  const webhook = (await readConfiguration()).webhooks?.find((each) => each.name === name);
  return Buffer.from(webhook?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
}

const authority = async (): Promise<string> =>
  (await guards.admin.get(SECRETS, SECRET)).object.data?.['ca.crt'] ?? '';

/** Resolves when the authority has changed this many times. */
async function rotations(count: number): Promise<void> {
  let current = await authority();
  for (let seen = 0; seen < count; seen += 1) {
    current = await askUntil('another authority', pausing(authority), (next) => next !== current);
  }
}

/** Yields the processor to the processes that it waits for. */
const pausing =
  <T>(ask: () => Promise<T>): (() => Promise<T>) =>
  async () => {
    await delay(50);
    return ask();
  };

function report(what: string, { refusals, handshakes }: Asked, since: number): void {
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  process.stdout.write(`${what}: ${refusals} refusals, ${handshakes} handshakes in ${seconds} s\n`);
}

describe('certificates that live for seconds (F16)', () => {
  test.each([
    ['two replicas', (): Promise<void> => rotations(ROTATIONS)],
    [
      'a rolling update: a third one comes, and two leave',
      async (): Promise<void> => {
        const third = await guards.start('guard-3');
        for (const replica of replicas) {
          replica.signal('SIGTERM');
          expect(await replica.ended).toBe('exit code 0');
        }
        replicas = [third];
      },
    ],
    ['one replica', (): Promise<void> => rotations(ROTATIONS)],
  ])('%s: every answer is the guard’s refusal', async (what, work) => {
    // A token of its own: the watchdog's stopwatch of a token goes on, and after half of its life the lock is ended.
    const token = randomUUID();
    await guards.lock(TENANT, token);
    const since = performance.now();
    const asked = await askWhile(token, work);
    report(what, asked, since);
    expect(asked.failures).toEqual([]);
    expect(asked.refusals).toBeGreaterThan(ROTATIONS);
    expect(asked.handshakes).toBeGreaterThan(ROTATIONS);
  });

  test('expired authorities leave the bundle, which does not grow', async () => {
    const bundle = await bundleOf(WEBHOOK.locked);
    expect(bundle.match(/BEGIN CERTIFICATE/g)?.length).toBeLessThanOrEqual(3);
    expect(await bundleOf(WEBHOOK.keys)).toBe(bundle);
  });
});

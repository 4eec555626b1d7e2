import { randomUUID } from 'node:crypto';
import https from 'node:https';
import { lockOf } from '../../functions/domain/lock.ts';
import { EVENT, WEBHOOK } from '../../functions/domain/names.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../webhook/tls/resources.ts';
import { FULL_MIGRATIONS, newMigration } from '../../test/cluster/kubevirt/objects/objects.ts';
import {
  blockedTenant,
  idleGuardMiB,
  setUpTenants,
  until,
  untilQuiet,
  type Environment,
} from './environment.ts';
import type { Measurements, MeasureOptions } from './figures.ts';

const NAMESPACE = 'bench-guard';
const MIGRATION = { namespace: NAMESPACE, name: 'for-the-guard' };
const REVIEWS_PER_CYCLE = 50;
/** Reviews that do not count: the connection opens, V8 compiles. */
const WARM_UP = 50;

/** Measures the duration of a review, and the memory of the guard once it is idle again. */
export async function measureGuard(
  environment: Environment,
  { cycles, onProgress }: MeasureOptions,
): Promise<Measurements> {
  const count = cycles * REVIEWS_PER_CYCLE;
  onProgress(`${count} reviews by the guard`);
  await setUpTenants(environment, [blockedTenant(NAMESPACE)]);
  const samples = await timeReviews(environment, count);
  const memory = [await idleGuardMiB(environment)];
  const group = 'the guard';
  return {
    figures: [
      { group, name: 'a review', unit: 'ms', samples, share: 0.5 },
      { group, name: 'a review', unit: 'ms', samples, share: 0.99, target: 15 },
      { group, name: 'resident memory, idle again', unit: 'MiB', samples: memory, target: 80 },
    ],
  };
}

/**
 * Milliseconds of each review of a pod outside the lock, which costs the guard a live read and a refusal. It sends them one after the
 * other on one connection, like the API server.
 */
async function timeReviews(environment: Environment, count: number): Promise<number[]> {
  const { admin, cluster, watching } = environment;
  const webhook = await webhookOf(environment);
  const isLocked = (): boolean => {
    const namespace = watching.find('Namespace', NAMESPACE);
    return namespace !== undefined && lockOf(namespace).kind === 'held';
  };
  // The namespace stays locked until `raise` gets this event; the one before, for a dry run, must reach it.
  const deliver = cluster.eventing.broker.hold(
    ({ event: { attributes } }) =>
      attributes['type'] === EVENT.namespaceLocked && attributes['subject'] === NAMESPACE,
  );
  try {
    await admin.create(FULL_MIGRATIONS, newMigration({ ...MIGRATION, vmi: 'vm0' }));
    await until(environment, `${NAMESPACE} is locked`, isLocked);
    const times: number[] = [];
    for (let index = -WARM_UP; index < count; index += 1) {
      const began = performance.now();
      await review(webhook);
      if (index >= 0) times.push(performance.now() - began);
    }
    if (!isLocked()) throw new Error(`${NAMESPACE} did not stay locked for so long`);
    return times;
  } finally {
    webhook.agent.destroy();
    deliver();
    await until(environment, `${NAMESPACE} is unlocked`, () => !isLocked());
    await admin.delete(FULL_MIGRATIONS, MIGRATION);
    await untilQuiet(environment);
  }
}

/** The guard's address for the API server, and the authority that the API server trusts there. */
async function webhookOf({ admin }: Environment) {
  const { object } = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration });
  const { service, caBundle = '' } =
    object.webhooks?.find(({ name }) => name === WEBHOOK.locked)?.clientConfig ?? {};
  if (service?.port === undefined) throw new Error('the webhook has no service with a port');
  const servername = `${service.name}.${service.namespace}.svc`;
  const ca = Buffer.from(caBundle, 'base64');
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca, servername });
  return { host: '127.0.0.1', port: service.port, path: service.path ?? '/', agent };
}

/** Rejects unless the guard refuses: any other answer would be a different measurement. */
function review(webhook: Awaited<ReturnType<typeof webhookOf>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = reviewBody();
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = https.request({ ...webhook, method: 'POST', headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => {
        if (text.includes('"allowed":false')) resolve();
        else reject(new Error(`the guard did not refuse, but: ${text.slice(0, 200)}`));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** An AdmissionReview for a pod of a launcher's size. */
function reviewBody(): string {
  const labels = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`label-${index}`, 'value']));
  const metadata = { namespace: NAMESPACE, labels };
  const args = Array<string>(100).fill('an argument');
  const containers = [{ name: 'compute', image: 'example.com/image', args }];
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: randomUUID(),
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: NAMESPACE,
      name: 'other-user',
      operation: 'CREATE',
      userInfo: { username: 'alice', groups: ['system:authenticated'] },
      object: { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } },
      oldObject: null,
      dryRun: false,
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
    },
  });
}

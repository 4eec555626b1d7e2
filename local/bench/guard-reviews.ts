import { randomUUID } from 'node:crypto';
import https from 'node:https';
import { lockOf } from '../../functions/domain/lock.ts';
import { WEBHOOK } from '../../functions/domain/names.ts';
import { FULL_MIGRATIONS, newMigration } from '../kubevirt/objects.ts';
import { VALIDATING_WEBHOOK_CONFIGURATIONS } from '../../webhook/resources.ts';
import { until, untilQuiet, type Scene } from './scene.ts';

/** Not counted: connections open, code gets warm. */
const WARM_UP = 50;

/**
 * Milliseconds that the guard takes for each of so many reviews, one after the other on one connection, as the API server
 * sends them: a stranger's pod in a namespace that is locked meanwhile, which costs a live read and a refusal.
 */
export async function timeReviews(scene: Scene, namespace: string, count: number): Promise<number[]> {
  const { admin, cluster, watching } = scene;
  const door = await doorOf(scene);
  const isLocked = (): boolean => {
    const tenant = watching.find('Namespace', namespace);
    return tenant !== undefined && lockOf(tenant).kind === 'held';
  };
  // The lock stays for as long as `raise` does not hear of it.
  const release = cluster.eventing.broker.hold(
    ({ event, trigger }) => trigger === 'mtq-raise' && event.attributes['subject'] === namespace,
  );
  try {
    const migration = newMigration({ namespace, name: 'for-the-guard', vmi: 'vm0' });
    await admin.create(FULL_MIGRATIONS, migration);
    await until(scene, `${namespace} is locked`, isLocked);
    const times: number[] = [];
    for (let index = -WARM_UP; index < count; index += 1) {
      const began = performance.now();
      await ask(door, reviewOf(namespace));
      if (index >= 0) times.push(performance.now() - began);
    }
    if (!isLocked()) throw new Error(`${namespace} did not stay locked for so long`);
    return times;
  } finally {
    door.agent.destroy();
    release();
    await until(scene, `${namespace} is unlocked`, () => !isLocked());
    await admin.delete(FULL_MIGRATIONS, { namespace, name: 'for-the-guard' });
    await untilQuiet(scene);
  }
}

interface Door {
  readonly port: number;
  readonly path: string;
  readonly agent: https.Agent;
}

/** Where the API server finds the guard, and whose certificate it trusts there. */
async function doorOf({ admin }: Scene): Promise<Door> {
  const { object } = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK.configuration });
  const { service, caBundle = '' } =
    object.webhooks?.find(({ name }) => name === WEBHOOK.locked)?.clientConfig ?? {};
  if (service?.port === undefined) throw new Error('the webhook has no service with a port');
  const servername = `${service.name}.${service.namespace}.svc`;
  const ca = Buffer.from(caBundle, 'base64');
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca, servername });
  return { port: service.port, path: service.path ?? '/', agent };
}

/** Resolves when it refused; any other answer would not be what is measured. */
function ask({ port, path, agent }: Door, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = https.request(
      { host: '127.0.0.1', port, path, method: 'POST', agent, headers },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          if (text.includes('"allowed":false')) resolve();
          else reject(new Error(`the guard did not refuse, but: ${text.slice(0, 200)}`));
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** A launcher-sized pod. */
function reviewOf(namespace: string): string {
  const labels = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`label-${index}`, 'value']));
  const container = {
    name: 'compute',
    image: 'example.com/image',
    args: Array<string>(100).fill('an argument'),
  };
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: randomUUID(),
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace,
      name: 'stranger',
      operation: 'CREATE',
      userInfo: { username: 'alice', groups: ['system:authenticated'] },
      object: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace, labels },
        spec: { containers: [container] },
      },
      oldObject: null,
      dryRun: false,
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
    },
  });
}

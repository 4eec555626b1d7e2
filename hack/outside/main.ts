/** npm run outside: runs all our processes on this machine against the cluster of KUBECONFIG (docs/development.md). */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { bundle } from '../build.ts';
import { isLeaving, temporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { startEventing } from '../../test/cluster/eventing/eventing.ts';
import { guardAccount, guardAddress, guardDeployment, startGuard } from '../../test/cluster/guard.ts';
import { install } from '../../test/cluster/install.ts';
import { policiesInForce } from '../../test/cluster/policies-in-force.ts';
import { renderAdmissionMode, ADMISSION_MODES } from '../../test/cluster/admission-modes.ts';
import { Accounts } from './accounts.ts';

const USAGE = `KUBECONFIG=FILE npm run outside -- [--install] [--admission-mode ${ADMISSION_MODES.join(' | ')}] [--port 8080] [--tls-port 8443]
  KUBECONFIG  of a cluster admin, to get tokens of our service accounts
  --install   first create all objects except our pods and Knative's; the API server must be on this machine
  --port      of the guard: health and dead letters
  --tls-port  of the guard: admission reviews`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

interface Wanted {
  readonly admin: string;
  readonly admissionMode: (typeof ADMISSION_MODES)[number];
  readonly installs: boolean;
  readonly port: number;
  readonly tlsPort: number;
}

function wanted(): Wanted {
  const { values } = parseArgs({
    options: {
      install: { type: 'boolean', default: false },
      'admission-mode': { type: 'string', default: 'both' },
      port: { type: 'string', default: '8080' },
      'tls-port': { type: 'string', default: '8443' },
    },
  });
  const admin = process.env['KUBECONFIG'];
  const admissionMode = ADMISSION_MODES.find((name) => name === values['admission-mode']);
  if (admin === undefined || admissionMode === undefined) throw new Error(USAGE);
  const [port, tlsPort] = [Number(values.port), Number(values['tls-port'])];
  return { admin, admissionMode, installs: values.install, port, tlsPort };
}

/** Resolves when all processes run; a signal ends them (exit.ts). */
async function main({ admin, admissionMode, installs, port, tlsPort }: Wanted): Promise<void> {
  const objects = await renderAdmissionMode(admissionMode);
  const folder = temporaryFolder('mtq-outside-').path;
  const accounts = new Accounts({ admin, folder });
  const of = (name: string): Promise<string> => accounts.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name });
  if (installs) {
    const cluster = connect(admin);
    await install(cluster, objects, tlsPort);
    await (
      await policiesInForce(cluster)
    )();
    print(`installed in ${accounts.server}`);
  }
  const dist = await bundle(undefined, join(folder, 'dist'));
  const eventing = await startEventing({
    objects,
    server: accounts.server,
    clusterFor: async (account) => connect(await of(account)),
    kubeconfigFor: of,
    bundle: join(dist, 'functions.mjs'),
    addresses: guardAddress(port),
    onLog: ({ service, text }) => print(`${service}: ${text}`),
    log: (line) => print(`source: ${line}`),
  });
  const deployment = guardDeployment(objects);
  await startGuard({
    deployment,
    bundle: join(dist, 'guard.mjs'),
    folder,
    kubeconfig: await of(guardAccount(deployment)),
    port,
    tlsPort,
    rewrite: eventing.rewrite,
    env: {},
  });
  print(
    `ready: Broker ${eventing.brokerUrl(SYSTEM_NAMESPACE, 'mtq')}, guard on ports ${String(port)} and ${String(tlsPort)}`,
  );
}

try {
  await main(wanted());
} catch (error) {
  // After a signal, errors are expected.
  if (!isLeaving()) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
}

/** npm run outside: runs all our processes on this machine against the cluster of KUBECONFIG (docs/development.md). */
import { join } from 'node:path';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import { bundle } from '../build.ts';
import { InvalidArgumentError, newScript, Option, runScript, wholeNumber } from '../script.ts';
import { temporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import { startEventing } from '../../test/cluster/eventing/eventing.ts';
import { guardAccount, guardAddress, guardDeployment, startGuard } from '../../test/cluster/guard.ts';
import { install } from '../../test/cluster/install.ts';
import { policiesInForce } from '../../test/cluster/policies-in-force.ts';
import { renderAdmissionMode, ADMISSION_MODES } from '../../test/cluster/admission-modes.ts';
import { Accounts } from './accounts.ts';

const port = wholeNumber(1, 65_535);

const OUTSIDE = newScript(
  'outside',
  'Runs all our processes on this machine against the cluster of KUBECONFIG.',
)
  .option(
    '--install',
    "first create all objects except our pods and Knative's; the API server must be on this machine",
  )
  .addOption(
    new Option('--admission-mode <mode>', 'who reviews requests').choices(ADMISSION_MODES).default('both'),
  )
  .option('--port <port>', 'of the guard: health and dead letters', port, 8080)
  .option('--tls-port <port>', 'of the guard: admission reviews', port, 8443)
  .addHelpText('after', '\nKUBECONFIG is of a cluster admin, to get tokens of our service accounts.');

const print = (line: string): void => void process.stdout.write(`${line}\n`);

interface Flags {
  readonly install?: boolean;
  readonly admissionMode: (typeof ADMISSION_MODES)[number];
  readonly port: number;
  readonly tlsPort: number;
}

/** Resolves when all processes run; a signal ends them (exit.ts). */
async function main({ admissionMode, install: installs, port, tlsPort }: Flags): Promise<void> {
  const admin = process.env['KUBECONFIG'] ?? '';
  if (admin === '') throw new InvalidArgumentError('KUBECONFIG is not set: which cluster?');
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

await runScript(OUTSIDE, main);

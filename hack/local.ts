/** npm run local: runs a local cluster with a tenant to try, until Ctrl-C. */
import { bundle } from './build.ts';
import { startLocalCluster } from '../test/cluster/cluster.ts';
import { ensureBinaries } from '../test/cluster/controlplane/binaries/ensure.ts';
import { reportProgress } from '../test/cluster/controlplane/binaries/report.ts';
import { AuditLog } from './demo/audit.ts';
import { renderLive } from './demo/live.ts';
import { coloursFor, type Colours } from './demo/colours.ts';
import type { Tenant } from './demo/scenarios.ts';
import { setUpTenant } from './demo/tenant.ts';
import { Traces } from './demo/traces.ts';
import { Watching } from './demo/watching.ts';
import { runProgram } from '../test/cluster/run-program.ts';

const TENANT: Tenant = {
  namespace: 'tenant-a',
  quotas: [{ name: 'compute', hard: { 'requests.cpu': '1500m', 'requests.memory': '2Gi', pods: '5' } }],
  vms: [{ name: 'vm' }],
  gives: { 'requests.cpu': '1', 'requests.memory': '1Gi' },
};
const SETTLE_MS = 60_000;
const WIDTH = 140;

async function main(): Promise<void> {
  const { showProgress, end } = reportProgress();
  const { kubectl } = await ensureBinaries(undefined, showProgress).finally(end);
  await bundle();
  const out = process.stdout;
  const colours = coloursFor(out);
  const note = (line: string): unknown => out.write(colours.dim(`· ${line}\n`));

  const traces = new Traces();
  const { onHop, onActivity, onLog } = traces;
  const { admin, controlPlane } = await startLocalCluster({ onHop, onActivity, onLog, onProgress: note });
  const watching = new Watching();
  await watching.start(admin);
  note(`making namespace ${TENANT.namespace}`);
  await setUpTenant(TENANT, { admin, watching, signal: AbortSignal.timeout(SETTLE_MS) });

  out.write(instructions({ kubectl, kubeconfig: controlPlane.adminKubeconfig, colours }));
  // Runs until a signal ends this process; exit.ts then stops the whole cluster.
  renderLive({
    watching,
    traces,
    audit: new AuditLog(controlPlane.auditLog),
    renderOptions: { colours, width: out.columns || WIDTH },
    out,
  });
}

interface Instructions {
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly colours: Colours;
}

/** The commands to try, for another terminal. */
function instructions({ kubectl, kubeconfig, colours }: Instructions): string {
  const { namespace, vms } = TENANT;
  const vm = vms[0]?.name ?? '';
  const isOnPath = (process.env['PATH'] ?? '').split(':').some((folder) => kubectl === `${folder}/kubectl`);
  return `
${colours.bold('The cluster is up.')} In another terminal:

  export KUBECONFIG=${kubeconfig}
${isOnPath ? '' : `  alias kubectl=${kubectl}\n`}
Namespace ${namespace} has a VM and a quota without headroom for a second launcher pod:

  kubectl get resourcequota,vmmrq,vmi,pods -n ${namespace}

Migrate it. (In a cluster virt-api adds the label and the finalizer.)

  kubectl create -f - <<EOF
  apiVersion: kubevirt.io/v1
  kind: VirtualMachineInstanceMigration
  metadata:
    generateName: migrate-
    namespace: ${namespace}
    labels: { kubevirt.io/vmi-name: ${vm} }
    finalizers: [kubevirt.io/migrationJobFinalize]
  spec: { vmiName: ${vm} }
  EOF
  kubectl get vmim -n ${namespace}
  kubectl get events -n ${namespace} --sort-by=.metadata.creationTimestamp
  kubectl describe vmmrq -n ${namespace}

Give less, and see what the next migration says:

  kubectl patch vmmrq migrations -n ${namespace} --type=merge -p '{"spec":{"additionalMigrationResources":{"requests.memory":"256Mi"}}}'

${colours.bold('Ctrl-C ends it and leaves nothing behind.')} What happens from here on:

`;
}

await runProgram(main);

/** npm run local: runs a local cluster with two tenants to try, until Ctrl-C. */
import { dirname } from 'node:path';
import { bundle, bundlePlugin } from './build.ts';
import { newScript, runScript } from './script.ts';
import { startLocalCluster } from '../test/cluster/cluster.ts';
import { ensureBinaries } from '../test/cluster/controlplane/binaries/ensure.ts';
import { reportProgress } from '../test/cluster/controlplane/binaries/report.ts';
import { AuditLog } from './demo/audit.ts';
import { ONE_API_SERVER } from './demo/demo.ts';
import { renderLive } from './demo/live.ts';
import { coloursFor, type Colours } from './demo/colours.ts';
import { aroundDrain, DRAINED_NODE } from './demo/runners.ts';
import type { Tenant } from './demo/scenarios.ts';
import { setUpTenant, VMMRQ_NAME } from './demo/tenant.ts';
import { Traces } from './demo/traces.ts';
import { Watching } from './demo/watching.ts';
import { deploy } from '../test/cluster/kubevirt/operator.ts';
import { RELEASE } from '../test/cluster/kubevirt/objects/release.ts';
import { VIEW_ROLE } from '../test/cluster/kubevirt/objects/view-role.ts';
import { CLUSTER_ROLES } from '../test/support/environment/roles.ts';

const LOCAL = newScript('local', 'Runs a local cluster with two tenants to try, until Ctrl-C.');

const VM = 'vm';

/** A VM, and a quota without headroom for a second launcher pod. */
const tenant = (namespace: string, memory: string): Tenant => ({
  namespace,
  quotas: [{ name: 'compute', hard: { 'requests.cpu': '1500m', 'requests.memory': '2Gi', pods: '5' } }],
  vms: [{ name: VM }],
  gives: { 'requests.cpu': '1', 'requests.memory': memory },
});

const [ENOUGH, TOO_LITTLE] = [tenant('tenant-a', '1Gi'), tenant('tenant-b', '256Mi')];
const SETTLE_MS = 60_000;
const WIDTH = 140;

async function main(): Promise<void> {
  const { showProgress, end } = reportProgress();
  const { kubectl } = await ensureBinaries(undefined, showProgress).finally(end);
  await bundle();
  const plugin = await bundlePlugin();
  const out = process.stdout;
  const colours = coloursFor(out);
  const note = (line: string): unknown => out.write(colours.dim(`· ${line}\n`));

  const traces = new Traces();
  const { onHop, onActivity, onLog } = traces;
  const { admin, controlPlane } = await startLocalCluster({
    ...{ onHop, onActivity, onLog, onProgress: note },
    kubevirt: { drains: true },
    env: ONE_API_SERVER,
  });
  await deploy(admin, { workloadUpdateMethods: ['LiveMigrate'] }, RELEASE);
  await admin.create(CLUSTER_ROLES, VIEW_ROLE);
  const watching = new Watching();
  await watching.start(admin);
  const signal = AbortSignal.timeout(SETTLE_MS);
  await aroundDrain(admin, async () => {
    for (const each of [ENOUGH, TOO_LITTLE]) {
      note(`making namespace ${each.namespace}`);
      await setUpTenant(each, { admin, watching, signal });
    }
  });

  const path = [plugin, dirname(kubectl)];
  out.write(instructions({ path, kubeconfig: controlPlane.adminKubeconfig, colours }));
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
  /** Folders of kubectl and of its plugin. */
  readonly path: readonly string[];
  readonly kubeconfig: string;
  readonly colours: Colours;
}

/** The commands to try, for another terminal. */
function instructions({ path, kubeconfig, colours }: Instructions): string {
  const [a, b] = [ENOUGH.namespace, TOO_LITTLE.namespace];
  const more = JSON.stringify({ spec: { additionalMigrationResources: ENOUGH.gives } });
  return `
${colours.bold('The cluster is up.')} In another terminal:

  export KUBECONFIG=${kubeconfig} PATH=${path.join(':')}:$PATH

Namespaces ${a} and ${b} have a VM each, on ${DRAINED_NODE}, and a quota without headroom for a second launcher pod.
Each has a VMMRQ; that of ${b} gives too little:

  kubectl get resourcequota,vmmrq,vmi,pods -n ${b}
  kubectl vmmrq preflight node ${DRAINED_NODE}

A migration that waits, and why. (In a cluster virt-api adds the label and the finalizer.)

kubectl create -f - <<EOF
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceMigration
metadata:
  name: migrate-${VM}
  namespace: ${b}
  labels: { kubevirt.io/vmi-name: ${VM} }
  finalizers: [kubevirt.io/migrationJobFinalize]
spec: { vmiName: ${VM} }
EOF
  kubectl vmmrq status -A
  kubectl vmmrq explain migrate-${VM} -n ${b}

The same as its tenant, who has ClusterRole view there:

  kubectl create rolebinding view --clusterrole=view --user=alice -n ${b}
  kubectl vmmrq explain migrate-${VM} -n ${b} --as alice

Give enough, and see it go through:

  kubectl patch vmmrq ${VMMRQ_NAME} -n ${b} --type=merge -p '${more}'
  kubectl get vmim -n ${b}
  kubectl get events -n ${b} --sort-by=.metadata.creationTimestamp

Then drain the node, in one terminal, and follow it in another:

  kubectl drain ${DRAINED_NODE} --delete-emptydir-data
  kubectl vmmrq progress ${DRAINED_NODE}
  kubectl uncordon ${DRAINED_NODE}

${colours.bold('Ctrl-C ends it and leaves nothing behind.')} What happens from here on:

`;
}

await runScript(LOCAL, main);

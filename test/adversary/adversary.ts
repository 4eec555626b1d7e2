import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { PODS, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { startChild } from '../cluster/controlplane/children.ts';
import type { ControlPlane } from '../cluster/controlplane/start.ts';
import type { AdmissionMode } from '../cluster/admission-modes.ts';
import { askUntil } from '../support/eventually.ts';
import { startTestEnvironment, type TestEnvironment } from '../support/environment/test-environment.ts';
import { unlimitMigrations } from '../support/environment/limits.ts';
import { publish } from '../support/environment/published.ts';
import { newTenant, headroomFor, type Tenant } from '../support/tenant/tenant.ts';
import { readEvidence, type Entry } from './evidence.ts';
import { evaluate, type Evaluation } from './evaluate.ts';
import { pauseAtTargets } from './pauses.ts';
import { runCycle, type Cycle } from './cycles.ts';
import { untilQuiescent } from './quiescence.ts';
import { bindRights, createRoles, userOfTenant } from './rights.ts';
import type { Run } from './runs.ts';
import { startSlowWebhook } from './slow-webhook.ts';
import { tableOf } from './table.ts';
import type { Kind, Plan, Report } from './tenants/plan.ts';
import { BALLAST, BALLAST_MEMORY } from './tenants/pods.ts';
import { COUNTED, COUNTED_HARD } from './tenants/quotas.ts';

/** A tenant that attacks its own namespace, and the result. */
export interface Attacked {
  readonly kind: Kind;
  readonly tenant: Tenant;
  readonly cycles: readonly Cycle[];
  readonly evaluation: Evaluation;
  readonly entries: readonly Entry[];
}

export interface Result {
  readonly run: Run;
  readonly admissionMode: AdmissionMode;
  readonly attacked: readonly Attacked[];
  /** What the tenants' process reports about its attempts. */
  readonly report: Report;
  /** How often the run paused kube-controller-manager. */
  readonly pauses: number;
  readonly seconds: number;
}

export interface Options {
  /** Which admission layers protect the raised headroom from the tenants. */
  readonly admissionMode: AdmissionMode;
  /** In total, over all tenants except the careless ones, which attack until the others have finished. */
  readonly cycles: number;
  /** After this time no new cycle starts, so there may be fewer, milliseconds. */
  readonly withinMs: number;
}

/** A test environment with tenants that attack while their VMs migrate. The caller stops it after it has read the result. */
export interface Adversary {
  readonly environment: TestEnvironment;
  readonly result: Result;
}

/** Runs the adversary. Rejects, and leaves nothing behind, when it cannot set up the environment. */
async function runAdversary(run: Run, { admissionMode, ...order }: Options): Promise<Adversary> {
  const kinds = kindsOf(run);
  const users = kinds.map((_, index) => userOfTenant(namespaceOf(index)));
  const environment = await startTestEnvironment({
    admissionMode,
    // On a busy machine KubeVirt's next try may take longer than usual.
    env: { SETTLE_MS: String(run.settleMs), STALL_SECONDS: '10' },
    controlPlane: { users, apiServers: run.lagMs === undefined ? 1 : 2 },
    ...(run.isOnlyTenantsSpread === true ? {} : { reroute: spread }),
  });
  try {
    return { environment, result: await attack(environment, run, { kinds, admissionMode, ...order }) };
  } catch (error) {
    await environment.stop();
    throw error;
  }
}

/** Runs the adversary, prints the result, and stops the environment after `look` has returned. */
export async function attacked(
  run: Run,
  options: Options,
  look: (adversary: Adversary) => Promise<void> | void,
): Promise<void> {
  const adversary = await runAdversary(run, options);
  try {
    process.stdout.write(tableOf(adversary.result));
    await look(adversary);
  } finally {
    await adversary.environment.stop();
  }
}

const namespaceOf = (index: number): string => `tenant-${index}`;

const kindsOf = ({ tenants }: Run): Kind[] =>
  (['admin', 'generous', 'careless'] as const).flatMap((kind) => new Array<Kind>(tenants[kind]).fill(kind));

/** Half of our processes use the second API server, if there is one. `raise` sends its proof to the first. */
function spread(account: string, kubeconfig: string, controlPlane: ControlPlane): string {
  const accounts: readonly string[] = [SERVICE_ACCOUNT.lock, SERVICE_ACCOUNT.lower, SERVICE_ACCOUNT.guard];
  const second = controlPlane.apiServers[1];
  return second === undefined || !accounts.includes(account)
    ? kubeconfig
    : controlPlane.kubeconfigAt(second, kubeconfig);
}

async function attack(
  environment: TestEnvironment,
  run: Run,
  { kinds, admissionMode, ...order }: Options & { readonly kinds: readonly Kind[] },
): Promise<Result> {
  const { admin, cluster } = environment;
  const { controlPlane } = cluster;
  await createRoles(admin);
  await unlimitMigrations(admin);
  if (run.arePublished === true) await publish(admin, controlPlane.apiServers);
  const tenants = await Promise.all(
    kinds.map(async (kind, index) => ({
      kind,
      tenant: await untilQuiet(environment, run, { kind, name: namespaceOf(index) }),
    })),
  );
  if (run.slow !== undefined) environment.atEnd(await startSlowWebhook(admin, run.slow, namespaceOf(0)));
  if (run.lagMs !== undefined) controlPlane.lagNamespaces(run.lagMs);
  const pauses = run.pauseMs === undefined ? undefined : pauseAtTargets(admin, controlPlane, run.pauseMs);

  const started = performance.now();
  const attackers = await startAttackers(environment, run, tenants);
  const done = await runCycles(admin, tenants, order);
  const report = await attackers.stop();
  const seconds = (performance.now() - started) / 1_000;
  await pauses?.stop();
  controlPlane.lagNamespaces(0);
  // The careless tenants harm only themselves, and their namespaces become quiescent too. The audit logs are complete only
  // then: a cycle that was ended early may still have a write in flight.
  const versions = await Promise.all(tenants.map(({ tenant }) => untilQuiescent(tenant)));

  const evidence = await evidenceOf(environment);
  const attacked = tenants.map(({ kind, tenant }, index) => {
    const entries = evidence.get(tenant.name) ?? [];
    const evaluation = evaluate(versions[index] ?? [], entries, userOfTenant(tenant.name).name);
    return { kind, tenant, cycles: done[index] ?? [], evaluation, entries };
  });
  return { run, admissionMode, attacked, report, pauses: pauses?.count ?? 0, seconds };
}

interface Attacker {
  readonly kind: Kind;
  readonly tenant: Tenant;
}

/** The careless tenants run until the others have finished; no cycle count is required of them. */
async function runCycles(
  admin: Cluster,
  tenants: readonly Attacker[],
  { cycles, withinMs }: Omit<Options, 'admissionMode'>,
): Promise<Cycle[][]> {
  const over = new AbortController();
  const { signal } = over;
  const counted = tenants.filter(({ kind }) => kind !== 'careless').length;
  const order = { count: Math.ceil(cycles / counted), withinMs, signal };
  const forever = { count: Infinity, withinMs: Infinity, signal };
  let left = counted;
  return Promise.all(
    tenants.map(async ({ kind, tenant }) => {
      if (kind === 'careless') return runCycle(admin, tenant, forever);
      const done = await runCycle(admin, tenant, order);
      left -= 1;
      if (left === 0) over.abort();
      return done;
    }),
  );
}

/** A namespace whose quota is full: a VM, and a pod that can be resized. */
async function untilQuiet(
  environment: TestEnvironment,
  run: Run,
  { kind, name }: { readonly kind: Kind; readonly name: string },
): Promise<Tenant> {
  const gives = run.gives ?? (kind === 'admin' ? 1 : 3);
  const launcher = headroomFor(1);
  const cpu = `${Number.parseInt(launcher['requests.cpu'] ?? '') + 50}m`;
  const memory = String(Number(launcher['requests.memory']) + BALLAST_MEMORY);
  const quotas = {
    tight: { pods: '2', 'requests.cpu': cpu, 'requests.memory': memory },
    [COUNTED]: COUNTED_HARD,
  };
  const [pods, by] = gives === 1 ? ['1', {}] : ['200', { raisePolicy: 'Fixed' } as const];
  const tenant = await newTenant(environment, { name, quotas, gives: { pods, ...headroomFor(gives) }, by });
  const requests = { cpu: '50m', memory: String(BALLAST_MEMORY) };
  const ballast = {
    metadata: { namespace: name, name: BALLAST },
    spec: { containers: [{ name: 'c', image: 'example.com/tenant', resources: { requests } }] },
  };
  await environment.admin.create(PODS, ballast);
  await bindRights(environment.admin, name, kind);
  return tenant;
}

const TENANTS = fileURLToPath(new URL('tenants/main.ts', import.meta.url));
const GRACE_MS = 60_000;

async function startAttackers(
  { cluster: { controlPlane, eventing } }: TestEnvironment,
  { podClients }: Run,
  tenants: readonly Attacker[],
): Promise<{ stop(): Promise<Report> }> {
  const { folder } = controlPlane;
  const functions = ['feasibility', 'lock', 'raise', 'lower', 'unlock'].map(
    (name) => eventing.activator.url(name) ?? '',
  );
  const plan: Plan = {
    sinks: { broker: eventing.brokerUrl(SYSTEM_NAMESPACE, 'mtq'), functions },
    podClients,
    report: join(folder, 'tenants-report.json'),
    tenants: await Promise.all(
      tenants.map(async ({ kind, tenant: { name } }) => {
        const kubeconfig = await controlPlane.kubeconfigForUser(userOfTenant(name));
        const kubeconfigs = controlPlane.apiServers.map((server) =>
          controlPlane.kubeconfigAt(server, kubeconfig),
        );
        return { namespace: name, kind, kubeconfigs };
      }),
    ),
  };
  const file = join(folder, 'tenants-plan.json');
  writeFileSync(file, JSON.stringify(plan));
  const child = await startChild({
    name: 'tenants',
    command: process.execPath,
    args: [TENANTS, file],
    logFile: join(folder, 'tenants.log'),
  });
  return {
    stop: async () => {
      await child.stop(GRACE_MS);
      try {
        return JSON.parse(readFileSync(plan.report, 'utf8')) as Report;
      } catch (cause) {
        throw new Error(`the tenants did not report. The end of their log:\n${child.logTail()}`, { cause });
      }
    },
  };
}

/** Sends one last request to each API server: when the audit log has it, the log has all earlier requests too. */
async function evidenceOf({
  cluster: { controlPlane },
}: TestEnvironment): Promise<ReadonlyMap<string, readonly Entry[]>> {
  const servers = controlPlane.apiServers;
  for (const [index, server] of servers.entries()) {
    const there = connect(controlPlane.kubeconfigAt(server, controlPlane.adminKubeconfig));
    const marker = `end-of-log-${index}`;
    // Lists no namespaces: an API server whose namespace watch is delayed cannot answer that list in time.
    await there.list(RESOURCE_QUOTAS, { namespace: SYSTEM_NAMESPACE, labelSelector: `${marker}=1` });
    await askUntil(
      'the audit log is written',
      () => Promise.resolve(endOf(server.auditLog)),
      (end) => end.includes(marker),
    );
  }
  return readEvidence(servers, (namespace) => namespace.startsWith('tenant-'));
}

const END_BYTES = 100_000;

function endOf(file: string): string {
  const log = openSync(file, 'r');
  try {
    const { size } = fstatSync(log);
    const end = Buffer.alloc(Math.min(size, END_BYTES));
    readSync(log, end, 0, end.length, size - end.length);
    return end.toString('utf8');
  } finally {
    closeSync(log);
  }
}

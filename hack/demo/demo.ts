import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { startLocalCluster, type LocalClusterOptions } from '../../test/cluster/cluster.ts';
import { isRunning } from '../../test/cluster/controlplane/children.ts';
import { AuditLog } from './audit.ts';
import { check } from './checks/check.ts';
import type { CheckResult } from './checks/check-result.ts';
import { RUNNERS, missingReportsOf } from './runners.ts';
import { stoppedAt, type StoppedAt } from './step-table.ts';
import { coloursFor, type Out } from './colours.ts';
import { needsOwnCluster, SCENARIOS, type Scenario, type Tenant } from './scenarios.ts';
import { timelineEventsIn, untilIdle, type DemoEnvironment } from './environment.ts';
import { scenarioTimelineOf } from './scenario-timeline.ts';
import { headline, table, renderTimeline, renderStop, type RenderOptions } from './renderer.ts';
import { setUpTenant, type Before } from './tenant.ts';
import type { Line } from './timeline.ts';
import { Traces } from './traces.ts';
import { now, Watching } from './watching.ts';

export interface DemoOptions {
  readonly out: Out;
  /** The scenarios; a scenario that needs a cluster of its own must be alone. Default: all others. */
  readonly scenarios?: readonly Scenario[];
  /** The number of the first scenario in the headlines. Default: 1. */
  readonly firstNumber?: number;
  /** Changes a copy of the manifests before they are installed. */
  readonly change?: (objects: KubernetesObject[]) => void;
  /** The timeout of one scenario, in milliseconds; then the demo reports where it stopped. Default: 20 s. */
  readonly deadlineMs?: number;
  /** How long an idle function keeps its process, in milliseconds. Default: 3 s. */
  readonly idleMs?: number;
  /** Prints details too: Events, conditions, nudges. */
  readonly verbose?: boolean;
  /** Receives the timeline of each complete scenario. */
  readonly onTimeline?: (lines: readonly Line[]) => void;
  /** Variables to add to the environment in the manifests, for functions and guard. */
  readonly env?: LocalClusterOptions['env'];
}

export interface ScenarioResult {
  readonly scenario: string;
  /** The station where the scenario stopped; missing: the scenario is complete. */
  readonly stop?: StoppedAt;
}

export interface DemoResult {
  readonly ok: boolean;
  /** The scenarios that ran. */
  readonly scenarios: readonly ScenarioResult[];
  /** The results from the API server once everything is quiescent; empty if a scenario stopped. */
  readonly checkResults: readonly CheckResult[];
  /** Functions that still had a process at the end. */
  readonly running: readonly string[];
}

/** The setting where only one API server exists, though no Service of the cluster names it: nothing to wait for. */
export const ONE_API_SERVER = { SETTLE_MS: '0' } as const;

const DEADLINE_MS = 20_000;
/** Functions stay warm during a scenario and until the next one. */
const IDLE_MS = 3_000;
/** The timeout to set up the tenants, and for all functions to exit: many times the usual duration. */
const TIMEOUT_MS = 60_000;
const WIDTH = 140;

/**
 * Runs the scenarios on a new cluster, prints the timeline of each, and checks the result on the API server. Stops at the first
 * scenario that does not complete. Needs a built `dist`. Rejects when the cluster does not start. Removes everything in any case.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const demo = new Demo(options);
  try {
    return await demo.run();
  } finally {
    await demo.stop();
  }
}

class Demo {
  readonly #options: DemoOptions;
  readonly #renderOptions: RenderOptions;
  readonly #traces = new Traces();
  readonly #befores = new Map<Tenant, Before>();
  readonly #ending: (() => Promise<void>)[] = [];

  constructor(options: DemoOptions) {
    this.#options = options;
    this.#renderOptions = { colours: coloursFor(options.out), width: options.out.columns ?? WIDTH };
  }

  async run(): Promise<DemoResult> {
    const scenarios = this.#options.scenarios ?? SCENARIOS.filter((one) => !needsOwnCluster(one));
    const environment = await this.#setUp(scenarios.some(needsOwnCluster));
    const setUp = (): Promise<void> =>
      this.#setUpTenants(
        scenarios.flatMap(({ tenants }) => tenants),
        environment,
      );
    const [around] = scenarios.flatMap(({ kind }) => RUNNERS[kind].aroundSetUp ?? []);
    await (around === undefined ? setUp() : around(environment.cluster.admin, setUp));
    const results: ScenarioResult[] = [];
    for (const [index, scenario] of scenarios.entries()) {
      this.#print(headline(index + (this.#options.firstNumber ?? 1), scenario, this.#renderOptions));
      const result = await this.#run(scenario, environment);
      results.push(result);
      if (result.stop !== undefined) return { ok: false, scenarios: results, checkResults: [], running: [] };
    }
    return this.#conclude(scenarios, environment);
  }

  get #idleMs(): number {
    return this.#options.idleMs ?? IDLE_MS;
  }

  async stop(): Promise<void> {
    for (const end of this.#ending.splice(0).toReversed()) await end();
  }

  async #setUp(drains: boolean): Promise<DemoEnvironment> {
    const { change, env } = this.#options;
    const { onHop, onActivity, onLog } = this.#traces;
    const cluster = await startLocalCluster({
      onHop,
      onActivity,
      onLog,
      idleMs: this.#idleMs,
      kubevirt: { drains },
      env: { ...ONE_API_SERVER, ...env },
      onProgress: (line) => this.#note(line),
      ...(change === undefined ? {} : { change }),
    });
    this.#ending.push(() => cluster.stop());
    // No request needs the guard's admission then, so it need not drain.
    this.#ending.push(() => cluster.killGuard());
    const watching = new Watching();
    const audit = new AuditLog(cluster.controlPlane.auditLog);
    this.#ending.push(() => watching.stop());
    await watching.start(cluster.admin);
    return { cluster, watching, traces: this.#traces, audit, notes: [] };
  }

  async #setUpTenants(tenants: readonly Tenant[], environment: DemoEnvironment): Promise<void> {
    this.#note(`${String(tenants.length)} tenants fill their quotas, then every function goes back to zero`);
    const { cluster, watching } = environment;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await Promise.all(
      tenants.map(async (tenant) => {
        this.#befores.set(tenant, await setUpTenant(tenant, { admin: cluster.admin, watching, signal }));
      }),
    );
    if (!(await untilIdle(environment, signal))) throw new Error('the functions do not scale to zero');
  }

  async #run(scenario: Scenario, environment: DemoEnvironment): Promise<ScenarioResult> {
    const { tenants, kind, name } = scenario;
    const runner = RUNNERS[kind];
    const { traces, audit } = environment;
    const signal = AbortSignal.timeout(this.#options.deadlineMs ?? runner.deadlineMs ?? DEADLINE_MS);
    const namespaces = tenants.map(({ namespace }) => namespace);
    const since = now();
    const isOver = await runner.run(tenants, environment, signal);
    // Events in delivery still belong to this scenario.
    if (isOver) await environment.cluster.eventing.broker.idle();

    audit.read();
    const events = timelineEventsIn(environment, namespaces, since);
    const verbose = this.#options.verbose === true;
    const timeline = scenarioTimelineOf({
      namespaces,
      since,
      events,
      notes: environment.notes,
      traces,
      audit,
      verbose,
    });
    this.#print(renderTimeline(timeline, this.#renderOptions));
    if (isOver) {
      this.#options.onTimeline?.(timeline.lines);
      return { scenario: name };
    }
    const missingReports = tenants.flatMap((tenant) =>
      missingReportsOf(tenant, environment.watching, runner),
    );
    const stop = stoppedAt({
      milestones: runner.milestones,
      namespaces,
      events,
      since,
      traces,
      missingReports,
    });
    this.#print(renderStop(stop, this.#renderOptions));
    return { scenario: name, stop };
  }

  /** Waits until the cluster is quiescent, so that the checks read final objects. */
  async #conclude(scenarios: readonly Scenario[], environment: DemoEnvironment): Promise<DemoResult> {
    this.#print('\n');
    this.#note(`the functions scale to zero when they have been idle for ${String(this.#idleMs / 1_000)} s`);
    const running = await this.#untilZero(environment);
    const checkResults = await this.#check(scenarios, environment);
    const { bold, good, bad } = this.#renderOptions.colours;
    const zero =
      running.length === 0
        ? `${good('✓')} no function process is left, of ${String(this.#traces.starts.length)} that were started`
        : `${bad('✗')} still running: ${running.join(', ')}`;
    this.#print(
      `\n${bold('Read back from the API server')}\n${table(checkResults, this.#renderOptions)}\n   ${zero}\n`,
    );
    const ok = running.length === 0 && checkResults.every(({ wrong }) => wrong.length === 0);
    return { ok, scenarios: scenarios.map(({ name }) => ({ scenario: name })), checkResults, running };
  }

  async #check(scenarios: readonly Scenario[], { cluster }: DemoEnvironment): Promise<CheckResult[]> {
    const checkResults: CheckResult[] = [];
    for (const { tenants, kind } of scenarios) {
      for (const tenant of tenants) {
        const before = this.#befores.get(tenant);
        if (before === undefined) throw new Error(`${tenant.namespace} was never settled`);
        checkResults.push(...(await check({ tenant, kind, before, admin: cluster.admin })));
      }
    }
    return checkResults;
  }

  /** The names of functions and processes that have not scaled to zero in time. */
  async #untilZero(environment: DemoEnvironment): Promise<string[]> {
    await untilIdle(environment, AbortSignal.timeout(TIMEOUT_MS));
    const known = environment.cluster.eventing.activator.running().map(({ service }) => service);
    const left = this.#traces.starts.map(({ pid }) => pid).filter((pid) => isRunning(pid));
    return [...known, ...left.map((pid) => `process ${String(pid)}`)];
  }

  /** Prints a progress line. */
  #note(line: string): void {
    this.#print(this.#renderOptions.colours.dim(`· ${line}\n`));
  }

  #print(text: string): void {
    this.#options.out.write(text);
  }
}

import { pause, systemClock, type Clock } from '../../functions/runtime/clock.ts';
import type { KubeVirt } from '../../functions/domain/objects.ts';
import type { ApiServer, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { describeError, ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { KUBEVIRTS, NAMESPACES } from '../../functions/kubernetes/resources.ts';
import type { Log } from '../../functions/runtime/log.ts';
import { evaluate, type Expected, type CompatibilityResult, type ClusterFacts } from './compatibility.ts';
import { SERVICE_ACCOUNTS } from '../tls/resources.ts';
import { LastingProblem } from '../../functions/runtime/lasting-problem.ts';

export interface CompatibilityCheckOptions {
  readonly cluster: ApiServer;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Every Knative release sets this label on everything that it installs. */
const VERSION_LABEL = 'app.kubernetes.io/version';
const AGAIN_MS = 60_000;

/**
 * Checks whether the guard can work in this cluster: at the start and every minute, until every fact is known and compatible.
 * After that, versions only become newer.
 */
export class CompatibilityCheck {
  readonly #expected: Expected;
  readonly #options: CompatibilityCheckOptions;
  readonly #problem: LastingProblem;
  #result: CompatibilityResult | undefined;

  constructor(expected: Expected, options: CompatibilityCheckOptions) {
    this.#expected = expected;
    this.#options = options;
    this.#problem = new LastingProblem(options.log, options.clock);
  }

  /** The reason why the guard cannot work here; undefined: no problem is known. */
  problem(): string | undefined {
    if (this.#result === undefined) return 'the versions of this cluster are being read';
    const { problems } = this.#result;
    return problems.length === 0 ? undefined : problems.join('; ');
  }

  /** Runs until every fact is known and compatible, or `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, log, clock = systemClock } = this.#options;
    while (!signal.aborted) {
      const found = await readFacts(cluster, this.#expected, (what, error) => {
        log('warn', `${what} cannot be read, and is assumed to be supported: ${describeError(error)}`);
      });
      const result = evaluate(found, this.#expected);
      this.#tell(result, found);
      this.#result = result;
      if (result.problems.length + result.unknown.length === 0) return;
      await pause(clock, AGAIN_MS, signal);
    }
  }

  /** Logs problems until they change. */
  #tell(
    { problems, unknown }: CompatibilityResult,
    { kubernetes, serving, eventing, kubevirts }: ClusterFacts,
  ): void {
    const before = this.#result;
    this.#problem.note(problems.length === 0 ? undefined : `not ready: ${problems.join('; ')}`);
    if (problems.length > 0 || (before !== undefined && before.unknown.join() === unknown.join())) return;
    this.#options.log('info', 'this cluster', {
      kubernetes,
      serving,
      eventing,
      kubevirt: kubevirts?.map(({ version }) => version).join(),
      unknown: unknown.join(', '),
    });
  }
}

type OnFailure = (what: string, error: unknown) => void;

/** Reads all facts in parallel. Never rejects: it omits each fact that it cannot read. */
async function readFacts(
  cluster: ApiServer,
  expected: Expected,
  onFailure: OnFailure,
): Promise<ClusterFacts> {
  const { KUBEVIRT_NAMESPACE: namespace, KUBEVIRT_CONTROLLER: controller } = expected;
  const read = async <T>(what: string, answer: Promise<T>): Promise<T | undefined> => {
    try {
      return await answer;
    } catch (error) {
      onFailure(what, error);
      return undefined;
    }
  };
  const [kubernetes, serving, eventing, kubevirts, hasController] = await Promise.all([
    read('the version of Kubernetes', cluster.version()),
    read('the version of Knative Serving', versionOf(cluster, 'knative-serving')),
    read('the version of Knative Eventing', versionOf(cluster, 'knative-eventing')),
    read('KubeVirt', kubevirtsOf(cluster)),
    read('its service account', exists(cluster, SERVICE_ACCOUNTS, { namespace, name: controller })),
  ]);
  return {
    ...(kubernetes === undefined ? {} : { kubernetes }),
    ...(serving === undefined ? {} : { serving }),
    ...(eventing === undefined ? {} : { eventing }),
    ...(kubevirts === undefined ? {} : { kubevirts }),
    ...(hasController === undefined ? {} : { hasController }),
  };
}

/** The version in the namespace's label; undefined if the namespace or its label does not exist. */
async function versionOf(cluster: ApiServer, name: string): Promise<string | undefined> {
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name }));
  return read?.object.metadata.labels?.[VERSION_LABEL];
}

async function kubevirtsOf(cluster: ApiServer): Promise<NonNullable<ClusterFacts['kubevirts']>> {
  const list = await ignoreNotFound(cluster.list(KUBEVIRTS, {}));
  return (list?.items ?? []).map(({ metadata, status }: KubeVirt) => ({
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    ...(status?.observedKubeVirtVersion === undefined ? {} : { version: status.observedKubeVirtVersion }),
  }));
}

const exists = async (
  cluster: ApiServer,
  type: ResourceType,
  at: { namespace: string; name: string },
): Promise<boolean> => (await ignoreNotFound(cluster.get(type, at))) !== undefined;

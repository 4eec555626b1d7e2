import { pause, systemClock, type Clock } from '../../functions/runtime/clock.ts';
import type { KubeVirt } from '../../functions/domain/objects.ts';
import type { ApiServer, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { KUBEVIRTS, NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../functions/cluster/snapshot.ts';
import type { Log } from '../../functions/runtime/log.ts';
import { evaluate, type Expected, type CompatibilityResult, type ClusterFacts } from './compatibility.ts';
import { SERVICE_ACCOUNTS } from '../tls/resources.ts';

export interface PreflightOptions {
  readonly cluster: ApiServer;
  readonly log: Log;
  readonly clock?: Clock;
}

/** By every release of Knative's, on all that it installs. */
const VERSION_LABEL = 'app.kubernetes.io/version';
const AGAIN_MS = 60_000;

/**
 * Whether this cluster is one that we can work in. Looked at from the start on and every minute, until everything is known
 * and in order: what changes after that only gets newer.
 */
export class PreflightCheck {
  readonly #expected: Expected;
  readonly #options: PreflightOptions;
  #result: CompatibilityResult | undefined;

  constructor(expected: Expected, options: PreflightOptions) {
    this.#expected = expected;
    this.#options = options;
  }

  /** Why we cannot work here; undefined: nothing is known that stands in the way. */
  problem(): string | undefined {
    if (this.#result === undefined) return 'the versions of this cluster are being read';
    const { problems } = this.#result;
    return problems.length === 0 ? undefined : problems.join('; ');
  }

  /** Runs until all is known and in order, or `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, log, clock = systemClock } = this.#options;
    while (!signal.aborted) {
      const found = await readFacts(cluster, this.#expected, (what, error) => {
        log('warn', `${what} cannot be read, and counts as good: ${describeError(error)}`);
      });
      const result = evaluate(found, this.#expected);
      this.#tell(result, found);
      this.#result = result;
      if (result.problems.length + result.unknown.length === 0) return;
      await pause(clock, AGAIN_MS, signal);
    }
  }

  /** Once for as long as it is so. */
  #tell(
    { problems, unknown }: CompatibilityResult,
    { kubernetes, serving, eventing, kubevirts }: ClusterFacts,
  ): void {
    const before = this.#result;
    const added = problems.filter((problem) => before?.problems.includes(problem) !== true);
    for (const problem of added) this.#options.log('error', `not ready: ${problem}`);
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

/** All at once; never rejects: what cannot be read is left out. */
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

/** Of a namespace that is not there, or does not say: undefined. */
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

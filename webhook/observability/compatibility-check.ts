import { pause, systemClock, type Clock } from '../../functions/runtime/clock.ts';
import type { KubernetesObject, KubeVirt } from '../../functions/domain/objects.ts';
import type { ApiServer, ResourceType, Selection } from '../../functions/kubernetes/cluster.ts';
import { describeError, ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { follow, inMap } from '../../functions/kubernetes/follow.ts';
import { KUBEVIRTS, NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { isSame } from '../../functions/domain/same.ts';
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
const KNATIVE = { serving: 'knative-serving', eventing: 'knative-eventing' } as const;
/** Milliseconds until it looks again after a problem, or after a read that failed. */
const AGAIN_MS = 60_000;

/**
 * Checks whether the guard can work in this cluster, until every fact is known and compatible: at the start, every minute while there is
 * a problem, and when what is unknown may be known. After that, versions only become newer.
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
      const unread: string[] = [];
      const found = await readFacts(cluster, this.#expected, (what, error) => {
        unread.push(what);
        log('warn', `${what} cannot be read, and is assumed to be supported: ${describeError(error)}`);
      });
      const result = evaluate(found, this.#expected);
      this.#tell(result, found);
      this.#result = result;
      if (result.problems.length + result.unknown.length === 0) return;
      if (unread.length === 0 && result.problems.length === 0) await this.#untilOther(found, signal);
      else await pause(clock, AGAIN_MS, signal);
    }
  }

  /** Waits until the objects with the versions show others. Knative may be without labels for ever, so the wait costs no requests. */
  async #untilOther({ serving, eventing, kubevirts }: ClusterFacts, signal: AbortSignal): Promise<void> {
    const { cluster, log, clock = systemClock } = this.#options;
    const over = new AbortController();
    const how = { clock, signal: AbortSignal.any([signal, over.signal]), isOptional: true };
    const onError = (error: unknown): void => log('warn', `watching versions again: ${describeError(error)}`);
    const compare = <T extends KubernetesObject>(
      of: { readonly type: ResourceType<T>; readonly where: Selection },
      isAsFound: (objects: readonly T[]) => boolean,
    ): Promise<void> => {
      const present = new Map<string, T>();
      const { onList, onChange, onGone } = inMap(present);
      const after =
        <A>(apply: (seen: A) => void): ((seen: A) => void) =>
        (seen) => {
          apply(seen);
          if (!isAsFound([...present.values()])) over.abort();
        };
      const follower = { onList: after(onList), onChange: after(onChange), onGone: after(onGone), onError };
      return follow<T>(cluster, { ...of, ...how }, follower);
    };
    const named = (name: string) => ({ type: NAMESPACES, where: { fieldSelector: `metadata.name=${name}` } });
    await Promise.all([
      compare(named(KNATIVE.serving), ([namespace]) => labelledVersion(namespace) === serving),
      compare(named(KNATIVE.eventing), ([namespace]) => labelledVersion(namespace) === eventing),
      compare({ type: KUBEVIRTS, where: {} }, (all) => isSame(all.map(kubevirtOf), kubevirts)),
    ]);
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
    read('the version of Knative Serving', versionOf(cluster, KNATIVE.serving)),
    read('the version of Knative Eventing', versionOf(cluster, KNATIVE.eventing)),
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
  return labelledVersion(read?.object);
}

const labelledVersion = (namespace: KubernetesObject | undefined): string | undefined =>
  namespace?.metadata.labels?.[VERSION_LABEL];

async function kubevirtsOf(cluster: ApiServer): Promise<NonNullable<ClusterFacts['kubevirts']>> {
  const list = await ignoreNotFound(cluster.list(KUBEVIRTS, {}));
  return (list?.items ?? []).map(kubevirtOf);
}

const kubevirtOf = ({ metadata, status }: KubeVirt): NonNullable<ClusterFacts['kubevirts']>[number] => ({
  name: metadata.name,
  namespace: metadata.namespace ?? '',
  ...(status?.observedKubeVirtVersion === undefined ? {} : { version: status.observedKubeVirtVersion }),
});

const exists = async (
  cluster: ApiServer,
  type: ResourceType,
  at: { namespace: string; name: string },
): Promise<boolean> => (await ignoreNotFound(cluster.get(type, at))) !== undefined;

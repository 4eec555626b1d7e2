import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster, WatchEvent } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, describeError, isGone } from '../../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import type { CloudEvent } from './cloudevent.ts';
import type { ApiServerSource } from './manifests.ts';
import { sendToSink, type Sent } from './sink.ts';
import { CHANGES, selectorText, selectsAll, streamsOf, type Stream } from './source.ts';
import { sourceEvent } from './sourceevent.ts';
import { realDelay, type Delay } from './times.ts';

export interface AdapterOptions {
  readonly source: ApiServerSource;
  /** Connected with the source's service account. */
  readonly cluster: Cluster;
  /** The API server's URL: every event's `source`. */
  readonly server: string;
  readonly sinkUrl: string;
  readonly delay?: Delay;
  /** Called for every sent event, with its result: an event that is not accepted is lost. */
  readonly onSent?: (event: CloudEvent, sent: Sent) => void;
  /** Called with the adapter's log messages. */
  readonly log?: (line: string) => void;
}

const BACKOFF_MS = { first: 800, max: 30_000 };

/** How long both adapters run in a rolling update. Measured (facts/knative.md §0): no change is lost, a few come twice. */
const OVERLAP_MS = 500;

/**
 * A stand-in for the receive adapter of an ApiServerSource (facts/knative.md §0, §1): one list and watch per resource,
 * no events for listed objects, and the next change of a stream only when the last one is sent or given up.
 */
export class ApiServerSourceAdapter {
  readonly #options: AdapterOptions;
  readonly #delay: Delay;
  #replica: Replica | undefined;

  constructor(options: AdapterOptions) {
    this.#options = options;
    this.#delay = options.delay ?? realDelay;
  }

  /**
   * Resolves when every resource is listed: the adapter sees later changes, but no earlier ones (after a `stop`: none of the
   * gap). Rejects when the API server refuses a list: the real source would not become Ready.
   */
  async start(): Promise<void> {
    this.#replica ??= await this.#begin();
  }

  /** Stops, and abandons the events that are being sent. */
  async stop(): Promise<void> {
    const replica = this.#replica;
    this.#replica = undefined;
    replica?.over.abort();
    await replica?.ended;
  }

  /** Every new namespace causes a rolling update: for a moment two adapters see the same changes (facts/knative.md §1.4). */
  async roll(): Promise<void> {
    const old = this.#replica;
    this.#replica = await this.#begin();
    if (old !== undefined) await realDelay(OVERLAP_MS, old.over.signal);
    old?.over.abort();
    await old?.ended;
  }

  async #begin(): Promise<Replica> {
    const over = new AbortController();
    const streams = streamsOf(this.#options.source, await this.#namespaces());
    const versions = await Promise.all(streams.map((stream) => this.#list(stream)));
    const watches = streams.map((stream, index) => this.#follow(stream, versions[index] ?? '', over.signal));
    return { over, ended: Promise.all(watches) };
  }

  async #namespaces(): Promise<string[]> {
    const { metadata, spec } = this.#options.source;
    if (spec.namespaceSelector === undefined) return [metadata.namespace];
    if (selectsAll(spec.namespaceSelector)) return [];
    const labelSelector = selectorText(spec.namespaceSelector);
    const { items } = await this.#options.cluster.list(NAMESPACES, { labelSelector });
    return items.map((namespace) => namespace.metadata.name);
  }

  async #list({ type, where }: Stream): Promise<string> {
    return (await this.#options.cluster.list(type, where)).resourceVersion;
  }

  async #follow(stream: Stream, listed: string, signal: AbortSignal): Promise<void> {
    let backoffMs = BACKOFF_MS.first;
    const position = { resourceVersion: listed };
    while (!signal.aborted) {
      try {
        await this.#watch(stream, position, signal);
        backoffMs = BACKOFF_MS.first;
      } catch (error) {
        if (isOver(signal)) return;
        this.#log(`watch of ${stream.type.plural}: ${describeError(error)}`);
        const listedAgain = mustListAgain(error) && (await this.#relist(stream, position));
        if (!(listedAgain && isGone(error))) await this.#delay(backoffMs, signal);
        backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max);
      }
    }
  }

  /** Ends when the server closes the watch. `position` is the last handled change. */
  async #watch(stream: Stream, position: Position, signal: AbortSignal): Promise<void> {
    const from = { ...stream.where, resourceVersion: position.resourceVersion };
    for await (const event of this.#options.cluster.watch(stream.type, from, signal)) {
      await this.#tell(stream, event, signal);
      if (isOver(signal)) return;
      position.resourceVersion = event.object.metadata.resourceVersion;
    }
  }

  /** All changes since `position` are lost silently. */
  async #relist(stream: Stream, position: Position): Promise<boolean> {
    try {
      position.resourceVersion = await this.#list(stream);
      return true;
    } catch (error) {
      this.#log(`list of ${stream.type.plural}: ${describeError(error)}`);
      return false;
    }
  }

  async #tell(
    stream: Stream,
    { type, object }: WatchEvent<KubernetesObject>,
    signal: AbortSignal,
  ): Promise<void> {
    const change = CHANGES[type];
    if (change === undefined) return;
    const { source, server, sinkUrl: url, onSent } = this.#options;
    const event = sourceEvent(source, server, { change, stream, object });
    const headers = [['Kn-Namespace', source.metadata.namespace] as const];
    const sent = await sendToSink(event, { url, headers, delay: this.#delay, signal });
    if (isOver(signal) && !sent.accepted) return;
    if (!sent.accepted) {
      const { type: eventType, subject } = event.attributes;
      const what = `${String(eventType)} ${String(subject)}`;
      this.#log(
        `failed to send cloudevent ${what}: ${String(sent.status ?? 'no answer')}, ${sent.tries} tries`,
      );
    }
    onSent?.(event, sent);
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

interface Position {
  resourceVersion: string;
}

interface Replica {
  readonly over: AbortController;
  readonly ended: Promise<unknown>;
}

/** A function, because the value may change between two awaits. */
const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** A reflector resumes after a lost connection, 429 and 500; any other refusal makes it list again. */
const mustListAgain = (error: unknown): boolean =>
  error instanceof ApiError && ![429, 500].includes(error.code);

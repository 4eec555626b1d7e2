import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType, WatchEvent } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import {
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
  RECORDED_EVENTS,
} from '../../cluster/kubevirt/objects/objects.ts';

/** One object version, as in test/recorded/history-*.jsonl. */
export interface Version {
  readonly kind: string;
  readonly watch: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
}

/** A history of the real virt-controller, in the order of its watches: test/recorded/<file>.jsonl. */
export async function readHistory(file: string): Promise<Version[]> {
  const text = await readFile(new URL(`../../recorded/${file}.jsonl`, import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Version | Mark)
    .filter((line) => 'object' in line);
}

/** A line that says what the recorder's script began to do. */
interface Mark {
  readonly mark: string;
}

export interface Recording {
  readonly versions: readonly Version[];
  /** Resolves with the first matching version, past ones included. */
  until(isWanted: (version: Version) => boolean): Promise<void>;
  /** Resolves when there is one more version. */
  next(): Promise<void>;
  stop(): Promise<void>;
}

const KINDS: readonly ResourceType[] = [
  RESOURCE_QUOTAS,
  FULL_VMIS,
  FULL_MIGRATIONS,
  LAUNCHER_PODS,
  RECORDED_EVENTS,
];

const WITHIN_MS = 30_000;
/** Before a watch that broke off is taken up again. */
const PAUSE_MS = 50;

export interface RecordingOptions {
  readonly kinds?: readonly ResourceType[];
  /** Whether the API server was away: then a refused watch is taken up again where the cluster is now. */
  readonly wasAway?: () => boolean;
}

/** Records every object version of one (still empty) namespace. */
export async function recordHistory(
  cluster: Cluster,
  namespace: string,
  { kinds = KINDS, wasAway = () => false }: RecordingOptions = {},
): Promise<Recording> {
  const versions: Version[] = [];
  const waiting = new Set<() => void>();
  const stopped = new AbortController();
  const see = (kind: string, event: WatchEvent<KubernetesObject>): string => {
    const { type, object } = event;
    const { resourceVersion } = object.metadata;
    if (type === 'BOOKMARK') return resourceVersion;
    versions.push({ kind, watch: type, object });
    for (const resume of waiting) resume();
    return resourceVersion;
  };
  const versionNow = async (type: ResourceType): Promise<string> =>
    (await cluster.list(type, { namespace })).resourceVersion;
  const nextFrom = async (error: unknown, type: ResourceType, last: string): Promise<string> => {
    if (!(error instanceof ApiError)) return last;
    if (!wasAway()) throw error;
    return versionNow(type).catch(() => last);
  };
  /** A watch that breaks off, such as one in which nothing happens for long, goes on where it was. */
  const follow = async (type: ResourceType, from: string): Promise<void> => {
    let resourceVersion = from;
    while (!stopped.signal.aborted) {
      const watch = cluster.watch(type, { namespace, resourceVersion }, stopped.signal);
      try {
        for await (const event of watch) resourceVersion = see(type.kind, event);
      } catch (error) {
        resourceVersion = await nextFrom(error, type, resourceVersion);
      }
      await delay(PAUSE_MS);
    }
  };
  const watches: Promise<void>[] = [];
  for (const type of kinds) watches.push(follow(type, await versionNow(type)));
  return {
    versions,
    until: (isWanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!versions.some(isWanted)) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve();
        };
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`the version waited for did not come: ${isWanted.toString()}`));
        }, WITHIN_MS);
        waiting.add(look);
        look();
      }),
    next: () =>
      new Promise((resolve) => {
        const look = (): void => {
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
      }),
    async stop() {
      stopped.abort();
      await Promise.all(watches);
    },
  };
}

import type { Container, KubernetesObject } from '../../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity } from '../../../functions/domain/quantity.ts';
import type { WatchEvent } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { WEBHOOK } from '../../../functions/domain/names.ts';
import { USERS, type Asked } from './side.ts';
import { rawText } from '../../support/raw-text.ts';

const SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/**
 * Makes the same text for the same behaviour of both sides: it numbers uids and resourceVersions by their first appearance, checks only
 * the form of times, and compares sums as amounts.
 */
export class Normaliser {
  readonly #namespace: string;
  readonly #numbers = new Map<string, string>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  object(object: KubernetesObject): unknown {
    const { kind = '', metadata } = object;
    const { status, spec } = object as { status?: Parts; spec?: Parts };
    return this.#anonymous({
      kind,
      metadata: this.#metadata(metadata),
      spec: SPEC[kind]?.(spec) ?? spec,
      status: STATUS[kind]?.(status) ?? status,
    });
  }

  refusal(error: unknown): unknown {
    if (!(error instanceof ApiError)) throw error;
    const { code, reason, status } = error;
    const { kind, name, causes } = status.details ?? {};
    // The error of a failed call names address and cause, which a model cannot know.
    const isCall = rawText(status.message).includes('failed calling webhook');
    const message = rawText(status.message)
      .replace(/(failed calling webhook "[^"]*").*/s, '$1')
      .replace(/StorageError: .*AdditionalErrorMsg: /, '')
      .replace(/\(\d+\)/g, '(version)')
      .replace(/=(\d+[a-zA-Z]*)/g, (_, amount: string) => `=${formatQuantity(parseQuantity(amount))}`);
    return this.#anonymous({ refused: { code, reason, kind, name, message, causes: isCall ? [] : causes } });
  }

  event({ type, object }: WatchEvent<KubernetesObject>): unknown {
    return { type, object: this.object(object) };
  }

  asked({ webhook, request }: Asked): unknown {
    const { operation, resource, subResource, name, namespace, userInfo, dryRun } = request;
    const user = Object.entries(USERS).find(([, each]) => each === userInfo.username)?.[0];
    return this.#anonymous({
      webhook: webhook === WEBHOOK.locked ? 'locked' : 'keys',
      operation,
      resource: [resource.resource, subResource]
        .filter((part) => part !== undefined && part !== '')
        .join('/'),
      name,
      namespace,
      user,
      dryRun,
      object: labelsOf(request.object),
      oldObject: labelsOf(request.oldObject),
    });
  }

  #metadata({ ...metadata }: KubernetesObject['metadata']): unknown {
    const { resourceVersion, uid, creationTimestamp, deletionTimestamp, name } = metadata;
    const { generation, labels, annotations, finalizers, deletionGracePeriodSeconds } =
      metadata as typeof metadata & { deletionGracePeriodSeconds?: number };
    return {
      name,
      uid: this.#number('uid', uid),
      resourceVersion: this.#number('version', resourceVersion),
      creationTimestamp: form(creationTimestamp),
      deletionTimestamp: form(deletionTimestamp),
      deletionGracePeriodSeconds,
      generation,
      labels,
      annotations,
      finalizers,
    };
  }

  #number(what: string, value: string | undefined): string | undefined {
    if (value === undefined || value === '') return undefined;
    const key = `${what} ${value}`;
    const count = [...this.#numbers.keys()].filter((known) => known.startsWith(`${what} `)).length;
    const number = this.#numbers.get(key) ?? `${what} ${count + 1}`;
    this.#numbers.set(key, number);
    return number;
  }

  /** Without undefined fields, and without the names that differ between the sides. */
  #anonymous(value: unknown): unknown {
    let text = JSON.stringify(value)
      .replaceAll(this.#namespace, '(namespace)')
      .replace(/"(generated-)[a-z0-9]{5}"/g, '"$1*"');
    for (const key of this.#numbers.keys()) {
      const [what = '', raw = ''] = key.split(' ');
      if (what === 'uid') text = text.replaceAll(raw, this.#numbers.get(key) ?? '');
    }
    return JSON.parse(text);
  }
}

type Parts = Record<string, unknown>;

const form = (time: string | undefined): string | undefined =>
  time === undefined || !SECONDS.test(time) ? time : 'a time in whole seconds';

const labelsOf = (object: KubernetesObject | null): unknown =>
  object === null ? null : { labels: object.metadata.labels, annotations: object.metadata.annotations };

/** Keeps only a pod's charged fields, because the server fills in many others. */
const SPEC: Readonly<Record<string, (spec?: Parts) => unknown>> = {
  Pod: (spec) =>
    (spec?.['containers'] as Container[]).map(({ name, resources }) => ({
      name,
      requests: resources?.requests ?? {},
      limits: resources?.limits ?? {},
    })),
};

const STATUS: Readonly<Record<string, (status?: Parts) => unknown>> = {
  ResourceQuota: (status) => ({ hard: status?.['hard'], used: amounts(status?.['used']) }),
  Namespace: (status) => status?.['phase'],
  Pod: (status) => ({
    phase: status?.['phase'],
    asksForNothing: status?.['qosClass'] === 'BestEffort',
  }),
};

const amounts = (list: unknown): unknown =>
  list === undefined
    ? undefined
    : Object.fromEntries(
        Object.entries(list as Record<string, string>).map(([key, text]) => [
          key,
          formatQuantity(parseQuantity(text)),
        ]),
      );

import { shown } from '../foreign-text.ts';
import type { KubernetesEvent } from '../objects.ts';
import { isLater } from '../resource-version.ts';
import { MAX_MESSAGE } from './known-verdict.ts';

/** The API server's refusal of a migration that KubeVirt wanted to create for a VMI, as its Event on the VMI has it. */
export interface RefusedMigration {
  /** Milliseconds of the last attempt; its author is virt-controller, or a tenant. */
  readonly at: number;
  /** Whether a quota on the number of migrations refused it. */
  readonly isByQuota: boolean;
  /** The API server's text, without the migration's name, which is another one in each attempt. */
  readonly text: string;
}

/** Prefix of the API server's text: of the evacuation controller, and of the workload updater (facts/kubevirt.md §3.1, §3.2). */
const PREFIX =
  /^(?:\(combined from similar events\): )?Error creating a Migration(?: for automated workload update)?: /;
const FORBIDDEN = /^virtualmachineinstancemigrations\.kubevirt\.io "[^"]*" is forbidden: /;
const BY_QUOTA = /^(?:exceeded quota|status unknown for quota): /;

/** Whether the Event is about a migration that could not be created. */
export const isAboutMigration = ({ message = '' }: KubernetesEvent): boolean =>
  PREFIX.test(message as string);

/** The newest refusal for each VMI, by the VMI's UID and namespace (`refusalKey`). */
export function refusedMigrations(events: readonly KubernetesEvent[]): ReadonlyMap<string, RefusedMigration> {
  const newest = new Map<string, { readonly version: string; readonly refused: RefusedMigration }>();
  for (const { metadata, involvedObject, message = '', lastTimestamp } of events.filter(isAboutMigration)) {
    const key = refusalKey(metadata.namespace, involvedObject.uid);
    const version = metadata.resourceVersion;
    if (!isLater(version, newest.get(key)?.version ?? '')) continue;
    const whole = shown(message, MAX_MESSAGE).replace(PREFIX, '');
    const text = whole.replace(FORBIDDEN, '');
    const isByQuota = text !== whole && BY_QUOTA.test(text);
    newest.set(key, {
      version,
      refused: { at: Date.parse(lastTimestamp ?? metadata.creationTimestamp), isByQuota, text },
    });
  }
  return new Map([...newest].map(([key, { refused }]) => [key, refused]));
}

/** Key with the namespace: an Event may name the uid of another tenant's VMI. */
export const refusalKey = (namespace: string | undefined, uid: string | undefined): string =>
  `${namespace ?? ''}/${uid ?? ''}`;

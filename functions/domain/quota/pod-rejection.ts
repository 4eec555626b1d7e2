import { shown, type ForeignText } from '../foreign-text.ts';
import { canonicalKey, type Amounts } from './charged.ts';
import { KUBEVIRT, POLICY, WEBHOOK } from '../names.ts';
import {
  candidatesAmong,
  CLOCKS_APART_MS,
  isRejectedByQuota,
  isUnexplained,
  launchersInTheWay,
  leftOverLaunchers,
  referenceOf,
  wasRejectedByQuota,
  type Candidate,
} from '../migration.ts';
import type { KubernetesEvent, Migration, VirtualMachineInstance } from '../objects.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { describeAmountText, isHardQuantity, parseQuantity, type Amount } from '../quantity.ts';

/** Why the API server refused a target pod, as far as it concerns a verdict; `text` is the API server's own, as `shown` makes it. */
export type PodRejection =
  /** No headroom. `requested` by canonical key: the pod's amounts for the keys that lack headroom, of the first such quota only. */
  | {
      readonly kind: 'exceeded';
      readonly quota: string;
      readonly requested: Amounts;
      /** The amounts that the quota allowed of these keys then, as read by the API server. */
      readonly limited: Amounts;
      /** Requested, used and limited of the same keys, as read by the API server, described to people. */
      readonly figures: string;
      readonly text: string;
    }
  /** A quota of CPU or memory, and a container without a value for it; or a quota that is not counted yet. */
  | { readonly kind: 'mustSpecify' | 'statusUnknown'; readonly quota: string; readonly text: string }
  /** Refusals that are not about a quota's amounts: no raise helps. `other`: a text of none of these forms. */
  | { readonly kind: 'uncovered' | 'limitRange' | 'podSecurity' | 'policy' | 'other'; readonly text: string };

/** Describes a refusal to people: a quota's with its amounts in units, any other in the API server's words. */
export const describeRejection = (rejection: PodRejection): string =>
  rejection.kind === 'exceeded'
    ? `ResourceQuota ${rejection.quota} refused its pod (${rejection.figures})`
    : rejection.text;

/** A refusal in an Event, and when it was last seen, milliseconds, by virt-controller's clock. */
export type SeenRejection = PodRejection & { readonly at: number };

/**
 * virt-controller's prefix before the API server's text; client-go prepends its own after ten events alike. The longer one is of Pod Security
 * (KubeVirt pkg/virt-controller/watch/migration/migration.go, createTargetPod).
 */
const PREFIX = {
  launcher:
    /^(?:\(combined from similar events\): )?(?:Error creating pod: |failed to render launch manifest: failed to create target pod for vmi \S+, it needs a privileged namespace to run: )/,
  attachment: /^(?:\(combined from similar events\): )?Error creating attachment pod: /,
} as const;
const FORBIDDEN = /^pods "[^"]*" is forbidden: /;
/** The pod is invalid after defaulting: a LimitRange's default limit that is less than the request, say. */
const INVALID = /^Pod "[^"]*" is invalid: /;

/*
 * No type tells one refusal from another: all are a 403 with a text. The forms, from kubernetes 1.36:
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go (CheckRequest), plugin/pkg/admission/
 * limitranger/admission.go, staging/src/k8s.io/pod-security-admission, apiserver/pkg/admission/plugin/{webhook,policy}.
 * A quota's name and a resource's have neither commas nor spaces.
 */
const EXCEEDED = /^exceeded quota: ([^\s,:]+), requested: (\S+), used: (\S*), limited: (\S+)$/;
const MUST_SPECIFY = /^failed quota: ([^\s,:]+): must specify /;
const STATUS_UNKNOWN = /^status unknown for quota: ([^\s,:]+), resources: /;
const FORMS: readonly (readonly ['uncovered' | 'limitRange' | 'podSecurity' | 'policy', RegExp])[] = [
  ['uncovered', /^insufficient quota to (?:consume|match these scopes): /],
  ['limitRange', /^\[?(?:(?:maximum|minimum) \S+ usage per |\S+ max limit to request ratio per )/],
  ['podSecurity', /^violates PodSecurity "/],
];
/** A webhook's 403; or a 500, where the webhook did not answer. */
const BY_WEBHOOK =
  /^(?:admission webhook|Internal error occurred: failed calling webhook) "([^"]+)"(?: denied the request|: )/;

/**
 * Failures that virt-controller retries after a moment, and that show nothing about the pod, unless they last (LASTING_MS):
 * k8s.io/apimachinery/pkg/api/errors/errors.go (conflict, timeout, too many requests, unavailable, a generated name that exists, a token that is being renewed), etcd's own, and those of the connection
 * (net/url, "Post …") and of the client before it (client-go rest/request.go, tryThrottle).
 */
const TRANSIENT =
  /^(?:Operation cannot be fulfilled on |(?:Request t|T)imeout: |Too many requests|The \S+ operation against \S+ could not be completed |the server (?:was unable to return a response|is currently unable|has received too many requests|has asked for)|an error on the server |(?:Internal error occurred: )?(?:etcdserver: |rpc error: |resource quota evaluation timed out|context )|Post "|unexpected EOF|EOF|http2: |client rate limiter Wait returned an error: |Unauthorized$|pods "[^"]*" already exists)/;

/**
 * How long attempts fail so until that counts as a refusal, milliseconds: virt-controller tries a dozen times meanwhile
 * (facts/kubevirt.md §1.4).
 */
const LASTING_MS = 60_000;

/** Characters; virt-controller's texts are shorter. */
const MAX_MESSAGE = 10_000;

const BY_POLICY = /^ValidatingAdmissionPolicy '([^']+)' /;

/** The refusal in an Event about a VMI, for a pod of this sort; undefined: the Event is about something else. Never throws. */
export function parsePodRejection(
  message: ForeignText,
  of: keyof typeof PREFIX = 'launcher',
): PodRejection | undefined {
  const text = failureIn(message, of);
  return text === undefined ? undefined : podRejectionIn(text);
}

/** The API server's text in an Event about a pod of this sort; a name or a key that is read from it is safe too. */
function failureIn(message: ForeignText, of: keyof typeof PREFIX = 'launcher'): string | undefined {
  const text = shown(message, MAX_MESSAGE);
  const prefix = PREFIX[of].exec(text)?.[0];
  return prefix === undefined ? undefined : text.slice(prefix.length);
}

/** The words by which KubeVirt sets its condition (facts/kubevirt.md §1.3); our own refusals have them. */
const TAKEN_FOR_QUOTA = 'exceeded quota';

/** Whether our own guard or policy refused the launcher, in words that KubeVirt takes for a quota's. */
function isOwnRefusal({ message = '' }: KubernetesEvent): boolean {
  const text = shown(message, MAX_MESSAGE).replace(PREFIX.launcher, '');
  const by = BY_WEBHOOK.exec(text)?.[1] ?? BY_POLICY.exec(text.replace(FORBIDDEN, ''))?.[1];
  return by !== undefined && isOurs(by) && text.includes(TAKEN_FOR_QUOTA);
}

/** Parses the API server's text. */
function podRejectionIn(text: string): PodRejection | undefined {
  const webhook = BY_WEBHOOK.exec(text);
  if (webhook !== null) return isOurs(webhook[1]) ? undefined : { kind: 'policy', text };
  if (INVALID.test(text)) return { kind: 'policy', text };
  const forbidden = FORBIDDEN.exec(text)?.[0];
  if (forbidden === undefined)
    return text === '' || TRANSIENT.test(text) ? undefined : { kind: 'other', text };
  const why = text.slice(forbidden.length);
  return isOurs(BY_POLICY.exec(why)?.[1]) ? undefined : rejectionBecause(why, text);
}

const OURS: readonly (string | undefined)[] = [WEBHOOK.locked, ...Object.values(POLICY)];

/** Our own guard refused it, or was absent, while the namespace was locked for others: that shows nothing about the pod either. */
const isOurs = (refusing: string | undefined): boolean => OURS.includes(refusing);

function rejectionBecause(why: string, text: string): PodRejection {
  const exceeded = exceededIn(why, text);
  if (exceeded !== undefined) return exceeded;
  for (const [kind, form] of [
    ['mustSpecify', MUST_SPECIFY],
    ['statusUnknown', STATUS_UNKNOWN],
  ] as const) {
    const name = form.exec(why)?.[1];
    if (name !== undefined) return { kind, quota: name, text };
  }
  const kind = FORMS.find(([, form]) => form.test(why))?.[0];
  return { kind: kind ?? 'policy', text };
}

function exceededIn(why: string, text: string): PodRejection | undefined {
  const match = EXCEEDED.exec(why);
  if (match === null) return undefined;
  const [, quota = '', list = '', used = '', limited = ''] = match;
  const requested = amountsIn(list);
  const allowed = amountsIn(limited) ?? new Map<string, Amount>();
  const figures = `requested ${described(list)}, used ${described(used)}, limited ${described(limited)}`;
  return requested && { kind: 'exceeded', quota, requested, limited: allowed, figures, text };
}

/** Describes such a list to people. What is no amount stays as it is. */
const described = (list: string): string =>
  list
    .split(',')
    .map((each) => {
      const at = each.lastIndexOf('=') + 1;
      return `${each.slice(0, at)}${describeAmountText(each.slice(0, at - 1), each.slice(at))}`;
    })
    .join(',');

/** "limits.cpu=2,pods=1"; undefined when it is no such list. */
function amountsIn(list: string): Amounts | undefined {
  const amounts = new Map<string, Amount>();
  for (const each of list.split(',')) {
    const at = each.lastIndexOf('=');
    const amount = each.slice(at + 1);
    if (at <= 0 || !isHardQuantity(amount)) return undefined;
    amounts.set(canonicalKey(each.slice(0, at)), parseQuantity(amount));
  }
  return amounts;
}

/** The pod's amounts, by canonical key, for the keys that any refusal names; the newest refusal counts. */
export function rejectedAmounts(rejections: readonly PodRejection[]): Amounts {
  const said = new Map<string, Amount>();
  for (const rejection of rejections) {
    if (rejection.kind !== 'exceeded') continue;
    for (const [key, amount] of rejection.requested) if (!said.has(key)) said.set(key, amount);
  }
  return said;
}

/**
 * The API server's refusals so far of the pod that this migration waits for, newest first. Their time is virt-controller's, that of the
 * migration's creation the API server's, and the first refusal follows it within a moment.
 */
export const podRejectionsOf = (
  candidate: Candidate,
  { metadata: { uid } }: Pick<VirtualMachineInstance, 'metadata'>,
  snapshot: Pick<NamespaceSnapshot, 'events' | 'now'>,
): SeenRejection[] => rejectionsIn(snapshot, candidate, (involved) => involved.uid === uid);

function rejectionsIn(
  { events, now }: Pick<NamespaceSnapshot, 'events' | 'now'>,
  { migration, blocked: { lacks } }: Candidate,
  isOfVmi: (involved: KubernetesEvent['involvedObject']) => boolean,
): SeenRejection[] {
  // KubeVirt sets its condition at the first such refusal: without it, the Event is another writer's.
  const isKubeVirts = ({ kind }: PodRejection): boolean =>
    kind !== 'exceeded' || lacks !== undefined || wasRejectedByQuota(migration);
  const all = failuresIn({ events, now }, migration, isOfVmi)
    .toSorted((one, other) => writtenAfter(other, one) || timeOf(other, now) - timeOf(one, now))
    .map((event) => {
      const rejection = parsePodRejection(event.message ?? '', lacks);
      const counts = rejection !== undefined && isKubeVirts(rejection);
      return { event, rejection: counts ? { ...rejection, at: writtenAt(event) } : undefined };
    });
  const rejections = all.flatMap(({ rejection }) => rejection ?? []);
  const newest = all.findIndex(({ rejection }) => rejection !== undefined);
  const later = all.slice(0, newest === -1 ? all.length : newest).map(({ event }) => event);
  const since = rejections[0]?.at ?? Date.parse(migration.metadata.creationTimestamp);
  return [...lastingFailure(later, since, lacks), ...rejections];
}

/** The newest of these Events, as a refusal, if each attempt since that time failed as TRANSIENT says, and for long. */
function lastingFailure(
  events: readonly KubernetesEvent[],
  since: number,
  lacks: 'attachment' | undefined,
): SeenRejection[] {
  const failed = events.flatMap((event) => {
    const text = failureIn(event.message ?? '', lacks);
    return text !== undefined && TRANSIENT.test(text) ? [{ event, text }] : [];
  });
  const [last] = failed;
  if (last === undefined) return [];
  const at = writtenAt(last.event);
  const first = Math.min(
    ...failed.map(({ event }) => Date.parse(event.firstTimestamp ?? '') || writtenAt(event)),
  );
  return at - Math.max(first, since) >= LASTING_MS ? [{ kind: 'other', text: last.text, at }] : [];
}

/** virt-controller's Events since the migration's creation about what it could not create for a VMI. */
function failuresIn(
  { events, now }: Pick<NamespaceSnapshot, 'events' | 'now'>,
  { metadata }: Migration,
  isOfVmi: (involved: KubernetesEvent['involvedObject']) => boolean,
): KubernetesEvent[] {
  const since = Date.parse(metadata.creationTimestamp) - CLOCKS_APART_MS;
  return events.filter(
    (event) =>
      isOfVmi(event.involvedObject) && event.reason === KUBEVIRT.failedCreate && timeOf(event, now) >= since,
  );
}

/** When our own guard or policy refused the migration's launcher, milliseconds, by virt-controller's clock. */
export const ownRefusalsOf = (
  { migration }: Candidate,
  { metadata: { uid } }: Pick<VirtualMachineInstance, 'metadata'>,
  snapshot: Pick<NamespaceSnapshot, 'events' | 'now'>,
): number[] =>
  failuresIn(snapshot, migration, (involved) => involved.uid === uid)
    .filter(isOwnRefusal)
    .map(writtenAt);

/**
 * The migrations whose pod is wanted and refused: the one question of every verdict. KubeVirt's condition shows a refusal for a quota's
 * amounts; the pods show a missing attachment pod, and launchers that KubeVirt waits for; the newest Event since the migration's creation
 * shows any other refusal.
 */
export function candidatesIn(
  snapshot: Pick<NamespaceSnapshot, 'migrations' | 'pods' | 'events' | 'now'>,
): Candidate[] {
  const { migrations, pods } = snapshot;
  const leftOver = leftOverLaunchers(pods, snapshot);
  return candidatesAmong(
    migrations,
    pods,
    (migration) =>
      isRejectedByQuota(migration) ||
      (isUnexplained(migration) &&
        (launchersInTheWay(migration, leftOver).length > 0 || isRefusedOtherwise(migration, snapshot))),
  );
}

/** Whether an Event shows it, by the name of the VMI, which is not read yet; podRejectionsOf verifies its uid. */
const isRefusedOtherwise = (
  migration: Migration,
  snapshot: Pick<NamespaceSnapshot, 'events' | 'now'>,
): boolean =>
  rejectionsIn(
    snapshot,
    { migration, blocked: referenceOf(migration) },
    ({ name }) => name !== undefined && name === migration.spec.vmiName,
  ).length > 0;

/** virt-controller's Events of pods of these VMs that were refused in a later second than `at`. `now`: the API server's clock. */
export const refusalsAfter = (
  { at, now }: { readonly at: number; readonly now: number },
  vms: readonly string[],
  events: readonly KubernetesEvent[],
): KubernetesEvent[] =>
  events.filter((event) => vms.includes(event.involvedObject.name ?? '') && timeOf(event, now) >= at + 1_000);

/**
 * Compares by resource version; above 0: `one` was written later. An Event's time is its author's: from another clock it may be
 * in the future, and would displace all later Events. Resource versions of one kind can be compared (kubernetes KEP-5504).
 */
const writtenAfter = (one: KubernetesEvent, other: KubernetesEvent): number =>
  versionOf(one).localeCompare(versionOf(other));

const versionOf = ({ metadata }: KubernetesEvent): string => metadata.resourceVersion.padStart(20, '0');

/**
 * Milliseconds of an Event's last occurrence; whole seconds, like a migration's creation. Its author sets that time, and may be a tenant.
 * In the future it says nothing: then the time counts at which the API server stored the Event first.
 */
function timeOf(event: KubernetesEvent, now: number): number {
  const written = writtenAt(event);
  return written > now + CLOCKS_APART_MS ? Date.parse(event.metadata.creationTimestamp) : written;
}

const writtenAt = ({ lastTimestamp, metadata }: KubernetesEvent): number =>
  Date.parse(lastTimestamp ?? metadata.creationTimestamp);

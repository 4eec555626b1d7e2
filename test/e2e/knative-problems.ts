import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { Condition, KubernetesObject } from '../../functions/domain/objects.ts';
import { rawText } from '../support/raw-text.ts';

/** A Knative object of the installation, with its controller's report. */
export interface Reporting extends KubernetesObject {
  spec?: { subscriber?: { ref?: { kind?: string; name?: string } } };
  status?: { conditions?: Condition[]; availableReplicas?: number };
}

/** The installation's Knative objects by kind. */
export type Installation = Readonly<
  Record<'Broker' | 'Trigger' | 'Service' | 'ApiServerSource', readonly Reporting[]>
>;

const APPLY = 'apply the manifests again';
const REFUSED = `Knative refuses objects before its webhooks are up: ${APPLY}`;

/** What is not ready or missing, each with what mends it where no controller of Knative does (docs/installing.md#see-that-it-works). */
export function knativeProblems(found: Installation): string[] {
  const kinds = Object.keys(found) as (keyof Installation)[];
  return [
    ...kinds
      .filter((kind) => found[kind].length === 0)
      .map((kind) => `there is no ${kind} in ${SYSTEM_NAMESPACE}: ${REFUSED}`),
    ...missingServices(found),
    ...kinds.flatMap((kind) => found[kind].flatMap((object) => unready(kind, object, found))),
  ];
}

/** Services that Triggers name and that are not there, where others are. */
function missingServices({ Trigger: triggers, Service: services }: Installation): string[] {
  const present = new Set(services.map(({ metadata }) => metadata.name));
  const wanted = triggers.flatMap(({ spec }) => {
    const { kind, name } = spec?.subscriber?.ref ?? {};
    return kind === 'Service' && name !== undefined && !present.has(name) ? [name] : [];
  });
  return present.size === 0
    ? []
    : [...new Set(wanted)].map((name) => `there is no Service ${name}: ${REFUSED}`);
}

function unready(kind: keyof Installation, object: Reporting, found: Installation): string[] {
  const ready = readyOf(object);
  if (ready?.status === 'True') return [];
  const what = `${kind} ${object.metadata.name} is not ready: ${rawText(ready?.message ?? 'it does not say why')}`;
  return [[what, ...remedyOf(kind, object, found)].join('. ')];
}

function remedyOf(kind: keyof Installation, object: Reporting, { Broker: brokers }: Installation): string[] {
  const reasons = (object.status?.conditions ?? []).flatMap(({ status, reason }) =>
    status === 'True' ? [] : [rawText(reason)],
  );
  if (kind === 'Broker' && reasons.includes('ChannelTemplateFailed')) {
    const remove = `kubectl delete broker ${object.metadata.name} -n ${SYSTEM_NAMESPACE}`;
    return [`It was made before Eventing's webhook was up: ${remove}, then ${APPLY}`];
  }
  // A Trigger repeats its Broker's reason, also for ever after the Broker is ready again.
  const areBrokersReady = brokers.every((broker) => readyOf(broker)?.status === 'True');
  if (kind === 'Trigger' && areBrokersReady && reasons.some((reason) => UNAVAILABLE.test(reason)))
    return [
      `It missed that Eventing is back: kubectl annotate trigger --all -n ${SYSTEM_NAMESPACE} --overwrite touched=$(date +%s)`,
    ];
  return [];
}

/** Older releases of Eventing watch Endpoints. */
const UNAVAILABLE = /^Endpoint(Slice)?sUnavailable$/;

const readyOf = ({ status }: Reporting): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready');

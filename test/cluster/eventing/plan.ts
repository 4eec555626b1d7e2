import type { KnativeService } from './manifests.ts';

/** The used parts of a manifest. */
export interface Plan {
  readonly name: string;
  readonly serviceAccount: string;
  readonly env: Record<string, string>;
  readonly readinessPath: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly minScale: number;
  readonly idleMs: number;
}

/** Throws for an unsupported manifest. `idleMs` overrides the annotations. */
export function planOf(service: KnativeService, idleMs: number | undefined): Plan {
  const { spec } = service.spec.template;
  return {
    name: service.metadata.name,
    serviceAccount: spec.serviceAccountName,
    env: environmentOf(service),
    readinessPath: spec.containers[0]?.readinessProbe?.httpGet?.path ?? '/health/readiness',
    concurrency: spec.containerConcurrency,
    timeoutMs: spec.timeoutSeconds * 1_000,
    ...scaleOf(service, idleMs),
  };
}

const AUTOSCALING = 'autoscaling.knative.dev/';

/** min-scale, and how long after the last request Knative would remove the last pod (facts/knative.md §4). */
function scaleOf({ spec }: KnativeService, idleMs: number | undefined): Pick<Plan, 'minScale' | 'idleMs'> {
  const annotations = spec.template.metadata?.annotations ?? {};
  const seconds = (name: string, otherwise: number): number =>
    parseGoDuration(annotations[`${AUTOSCALING}${name}`]) ?? otherwise;
  const minScale = Number(annotations[`${AUTOSCALING}min-scale`] ?? 0);
  const window = seconds('window', 60_000);
  return {
    minScale,
    idleMs: minScale > 0 ? Infinity : (idleMs ?? window + seconds('scale-to-zero-pod-retention-period', 0)),
  };
}

const GO_DURATION = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?$/;

/** "1m30s" in milliseconds. */
function parseGoDuration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, hours, minutes, seconds] = GO_DURATION.exec(text) ?? [];
  if (text === '' || (hours ?? minutes ?? seconds) === undefined)
    throw new Error(`${text} is no duration like 1m30s`);
  return ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds ?? 0)) * 1_000;
}

/** The container's environment; a value from elsewhere is refused but for the namespace and the service account. */
export function environmentOf({ metadata, spec }: KnativeService): Record<string, string> {
  const fields: Record<string, string> = {
    'metadata.namespace': metadata.namespace,
    'spec.serviceAccountName': spec.template.spec.serviceAccountName,
  };
  const env = spec.template.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      if (valueFrom === undefined) return [name, value ?? ''];
      const path = (valueFrom as { fieldRef?: { fieldPath?: string } }).fieldRef?.fieldPath ?? '';
      const field = fields[path];
      if (field !== undefined) return [name, field];
      throw new Error(
        `Service ${metadata.name}: the value of ${name} comes from where it cannot be had here`,
      );
    }),
  );
}

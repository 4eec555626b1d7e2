import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { APPLY, nth, type Attack, type Attempt } from './attack.ts';
import type { ObservedState } from './sight.ts';

type Resources = Readonly<Record<'requests' | 'limits', Readonly<Record<string, string>>>>;

const SMALL = { cpu: '1m', memory: '1Mi' };
const BOTH: Resources = { requests: SMALL, limits: SMALL };
/** All the headroom that a raise for one launcher adds. */
const LARGE = { cpu: '1005m', memory: '1412828864' };

const container = (name: string, resources?: Partial<Resources>): object => ({
  name,
  image: 'example.com/tenant',
  ...(resources === undefined ? {} : { resources }),
});

interface Shape {
  readonly shape: string;
  readonly labels?: (observed: ObservedState) => Readonly<Record<string, string>>;
  readonly spec: object;
}

const forged = ({ migrationUid, vmiUid }: ObservedState): Record<string, string> => ({
  [KUBEVIRT.migrationJobUID]: migrationUid,
  [KUBEVIRT.createdBy]: vmiUid,
});

/** Pod shapes that quotas charge in different ways, or not at all. */
const SHAPES: readonly Shape[] = [
  { shape: 'requests and limits', spec: { containers: [container('c', BOTH)] } },
  { shape: 'requests only', spec: { containers: [container('c', { requests: SMALL })] } },
  { shape: "without the quota's resources", spec: { containers: [container('c')] } },
  { shape: 'limits only', spec: { containers: [container('c', { limits: SMALL })] } },
  {
    shape: 'the headroom of a launcher',
    spec: { containers: [container('c', { requests: LARGE })] },
  },
  {
    shape: 'an init container',
    spec: { initContainers: [container('i', BOTH)], containers: [container('c', BOTH)] },
  },
  {
    shape: 'a sidecar',
    spec: {
      initContainers: [{ ...container('s', BOTH), restartPolicy: 'Always' }],
      containers: [container('c', BOTH)],
    },
  },
  { shape: 'resources of the pod', spec: { resources: BOTH, containers: [container('c')] } },
  {
    shape: 'ends by itself',
    spec: { activeDeadlineSeconds: 60, restartPolicy: 'Never', containers: [container('c', BOTH)] },
  },
  { shape: "the migration's UID", labels: forged, spec: { containers: [container('c', BOTH)] } },
  {
    shape: 'looks like the target',
    labels: (observed) => ({ ...forged(observed), [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher }),
    spec: { containers: [container('compute', { requests: LARGE })] },
  },
];

let made = 0;

function podOf(observed: ObservedState, { shape, labels, spec }: Shape, client: string): Attempt {
  made += 1;
  const name = `${client}-${made}`;
  const { namespace } = observed;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const metadata = { name, namespace, labels: { ...labels?.(observed) } };
  const undo = deletion(`${path}/${name}`);
  const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
  return { shape: `create: ${shape}`, method: 'POST', path, body, undo };
}

const deletion = (path: string): Attempt => ({
  shape: 'undo',
  method: 'DELETE',
  path,
  body: { gracePeriodSeconds: 0 },
});

/** Server-side apply: a PATCH that creates. */
function appliedPod(observed: ObservedState, client: string): Attempt {
  const pod = podOf(observed, nth(SHAPES, 0), client);
  const { metadata } = pod.body as { metadata: { name: string } };
  const path = `${pod.path}/${metadata.name}?fieldManager=tenant&force=true`;
  return { ...pod, shape: 'create: by server-side apply', method: 'PATCH', contentType: APPLY, path };
}

/** One shape after the other, without a pause. */
export const createPods = (clients: number): Attack => ({
  name: 'pods',
  clients,
  pauseMs: 0,
  next: (observed, n) => {
    if (n % (SHAPES.length + 1) === SHAPES.length) return [appliedPod(observed, 'apply')];
    return [podOf(observed, nth(SHAPES, n), 'pod')];
  },
});

/** Creates all shapes at once, repeatedly, while a quota is raised. */
export const burstOfPods: Attack = {
  name: 'burst',
  clients: 1,
  pauseMs: 0,
  next: (observed) => (observed.isRaised ? SHAPES.map((shape) => podOf(observed, shape, 'burst')) : []),
};

/** The pod that each tenant has beside its VM. */
export const BALLAST = 'ballast';
export const BALLAST_MEMORY = 64 * 1024 ** 2;
const SIZES = ['60m', '40m', '1055m', '50m'];

/**
 * Resizes up, down, up by a launcher's headroom, and back. Each attempt asks for one byte less than the one before, so that the
 * pod's versions identify it; the field manager identifies it in the audit log.
 */
export const resizePods: Attack = {
  name: 'resize',
  clients: 1,
  pauseMs: 0,
  next: ({ namespace }, n) => {
    const requests = { cpu: nth(SIZES, n), memory: String(BALLAST_MEMORY - n) };
    return [
      {
        shape: `resize: to ${requests.cpu}, 50m at first`,
        method: 'PATCH',
        path: `/api/v1/namespaces/${namespace}/pods/${BALLAST}/resize?fieldManager=${resizer(n)}`,
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { containers: [{ name: 'c', resources: { requests } }] } },
      },
    ];
  },
};

/** The field manager of the `n`th attempt to resize. */
export const resizer = (n: number): string => `resize-${n}`;

/** Puts the target pod's label on another pod: a step that trusts the label would lower too early. */
export const mislabelPods: Attack = {
  name: 'mislabel',
  clients: 1,
  pauseMs: 500,
  next: (observed, n) => {
    const labels =
      n % 2 === 0
        ? { ...forged(observed), [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher }
        : { [KUBEVIRT.migrationJobUID]: null, [KUBEVIRT.createdBy]: null, [KUBEVIRT.launcherLabel]: null };
    return [
      {
        shape: n % 2 === 0 ? 'label: a pod as the target' : 'label: taken off again',
        method: 'PATCH',
        path: `/api/v1/namespaces/${observed.namespace}/pods/${BALLAST}`,
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels } },
      },
    ];
  },
};

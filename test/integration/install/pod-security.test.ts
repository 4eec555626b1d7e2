import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import { STEPS } from '../../../functions/steps.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { PODS } from '../../../functions/kubernetes/resources.ts';
import { renderDefault } from '../../cluster/cluster.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { install } from '../../cluster/install.ts';

interface PodSpec {
  readonly serviceAccountName: string;
  readonly securityContext?: object;
  readonly containers: readonly Container[];
}
interface Container {
  readonly securityContext?: object;
  readonly readinessProbe?: object;
  readonly livenessProbe?: object;
}
type TemplateSpec = PodSpec & { readonly containerConcurrency?: number; readonly timeoutSeconds?: number };
interface Workload extends KubernetesObject {
  spec: { template: { spec: TemplateSpec } };
}

let controlPlane: ControlPlane;
let admin: Cluster;
let workloads: ReadonlyMap<string, PodSpec>;

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig, 'admin');
  const objects = await renderDefault();
  await install(admin, objects, 8443);
  const isWorkload = ({ kind, apiVersion = '' }: KubernetesObject): boolean =>
    kind === 'Deployment' || (kind === 'Service' && apiVersion.startsWith('serving.knative.dev/'));
  workloads = new Map(
    (objects.filter(isWorkload) as Workload[]).map(({ metadata, spec }) => [
      metadata.name,
      podOf(spec.template.spec),
    ]),
  );
});

afterAll(async () => {
  await controlPlane.stop();
});

/** The parts of a Knative Service's template that reach the pod. Without probes: they have no port, and queue-proxy runs them. */
function podOf({ containerConcurrency: _one, timeoutSeconds: _other, ...spec }: TemplateSpec): PodSpec {
  const containers = spec.containers.map(
    ({ readinessProbe: _ready, livenessProbe: _live, ...container }) => ({
      name: 'user-container',
      ...container,
    }),
  );
  return { ...spec, containers };
}

const SPEC_OF_ANYTHING: ResourceType<KubernetesObject & { spec: PodSpec }> = PODS as never;

/** The API server's answer, including Pod Security admission, in our installed namespace. */
const tryPod = async (spec: PodSpec): Promise<KubernetesObject> => {
  const metadata = { namespace: SYSTEM_NAMESPACE, name: 'tried' };
  return (await admin.create(SPEC_OF_ANYTHING, { metadata, spec }, { dryRun: true })).object;
};

const NAMES = [...STEPS.map(({ name }) => name), SERVICE_ACCOUNT.guard];
const specOf = (name: string): PodSpec => {
  const spec = workloads.get(name);
  if (spec === undefined) throw new Error(`nothing is installed that is called ${name}`);
  return spec;
};

describe('our own namespace enforces the restricted Pod Security Standard', () => {
  test('runs only these pods', () => {
    expect([...workloads.keys()].toSorted()).toEqual(NAMES.toSorted());
  });

  test.each(NAMES)('admits %s', async (name) => {
    await expect(tryPod(specOf(name))).resolves.toMatchObject({ metadata: { name: 'tried' } });
  });

  const LESS: Readonly<Record<string, (spec: PodSpec) => PodSpec>> = {
    'as root, or with privileges': ({ securityContext: _, ...spec }) => ({
      ...spec,
      containers: spec.containers.map(({ securityContext: _context, ...container }) => container),
    }),
    "with the host's files": (spec) => ({ ...spec, volumes: [{ name: 'host', hostPath: { path: '/' } }] }),
    "in the host's network": (spec) => ({ ...spec, hostNetwork: true }),
  };
  test.each(Object.entries(LESS))('%s, it admits no process', async (_what, change) => {
    for (const name of NAMES) {
      await expect(tryPod(change(specOf(name)))).rejects.toMatchObject({ code: 403, reason: 'Forbidden' });
    }
  });
});

test('no process can write to its own file system', () => {
  for (const [name, { containers }] of workloads) {
    const contexts = containers.map(({ securityContext }) => securityContext);
    expect([name, contexts]).toMatchObject([name, [{ readOnlyRootFilesystem: true }]]);
    expect([name, 'volumes' in specOf(name)]).toEqual([name, false]);
  }
});

import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { chartOf } from '../../hack/manifests/chart/chart.ts';
import { SWITCH_VALUES } from '../../hack/manifests/chart/switches.ts';
import { writeInstallation } from '../../hack/manifests/write.ts';
import { temporaryFolder, type TemporaryFolder } from '../cluster/controlplane/exit.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';
import { parseImage } from '../cluster/image.ts';
import {
  componentsFor,
  OVERLAYS,
  renderInstallation,
  type Component,
  type Overlay,
} from '../cluster/overlay.ts';
import { helm, helmObjects } from './helm.ts';

const IMAGE = 'registry.example/mtq:0.1.0';
const image = parseImage(IMAGE);

let folder: TemporaryFolder;
let chart: string;

// Builds Helm first.
jest.setTimeout(20 * 60_000);

beforeAll(async () => {
  folder = temporaryFolder('mtq-chart-');
  const wanted = { overlay: 'default', components: [], image, version: '0.1.0' } as const;
  ({ chart } = await writeInstallation(folder.path, wanted));
});
afterAll(() => folder.remove());

const read = (name: string): string => readFileSync(join(chart, name), 'utf8');

const keyOf = ({
  apiVersion = '',
  kind = '',
  metadata: { namespace = '', name },
}: KubernetesObject): string => `${apiVersion} ${kind} ${namespace}/${name}`;
const sorted = (objects: readonly KubernetesObject[]): KubernetesObject[] =>
  objects.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)));

/** Without the annotation that keeps the CRDs, and only these, at `helm uninstall`. */
function withoutKeep(object: KubernetesObject): KubernetesObject {
  const { annotations: { 'helm.sh/resource-policy': policy, ...annotations } = {}, ...metadata } =
    object.metadata;
  expect(policy).toBe(object.kind === 'CustomResourceDefinition' ? 'keep' : undefined);
  return {
    ...object,
    metadata: { ...metadata, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) },
  };
}

/** With each list of named items in the order of the names: kustomize's order depends on the patches, and means nothing. */
function unordered(part: unknown): unknown {
  if (Array.isArray(part)) {
    const items = part.map((item) => unordered(item));
    const nameOf = (item: unknown): string => (item as { name?: unknown } | null)?.name as string;
    const areNamed = items.every((item) => typeof nameOf(item) === 'string');
    return areNamed ? items.toSorted((one, other) => nameOf(one).localeCompare(nameOf(other))) : items;
  }
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, unordered(each)]));
}

describe('the objects', () => {
  test('are by default those that kustomize renders, and the CRDs are kept at uninstall', async () => {
    const expected = objectsOf(await renderInstallation({ overlay: 'default', components: [], image }));
    const found = (await helmObjects(chart)).map(withoutKeep);
    expect(sorted(found)).toEqual(sorted(expected));
  });

  test.each<[Overlay, Component[]]>([
    ...OVERLAYS.flatMap((overlay): [Overlay, Component[]][] => [
      [overlay, []],
      ...componentsFor(overlay).map((name): [Overlay, Component[]] => [overlay, [name]]),
      [overlay, componentsFor(overlay)],
    ]),
    ['default', ['minimal', 'live-migration', 'oidc']],
    ['default', ['live-migration', 'cert-manager', 'kafka-broker', 'oidc']],
    ['default', ['minimal', 'kafka-broker', 'openshift', 'prometheus']],
    ['policy-only', ['minimal', 'kafka-broker', 'oidc', 'openshift']],
  ])('of overlay %s with %j are those of kustomize too', async (overlay, components) => {
    const rendered = await renderInstallation({ overlay, components, image });
    const on: readonly string[] = [overlay, ...components];
    const hasOpenshift = components.includes('openshift');
    // The chart reserves KubeVirt's namespace by its name, the component by its prefix.
    const expected = hasOpenshift
      ? rendered.replaceAll(/(?<=mtq-system'+,\s+'+)kubevirt/g, 'openshift-cnv')
      : rendered;
    const values = {
      components: Object.fromEntries([...SWITCH_VALUES].map(([key, name]) => [key, on.includes(name)])),
      ...(hasOpenshift ? { kubevirtNamespace: 'openshift-cnv' } : {}),
    };
    const found = (await helmObjects(chart, { values })).map(withoutKeep);
    expect(unordered(sorted(found))).toEqual(unordered(sorted(objectsOf(expected))));
  });

  test('are by default those of the installation for which the chart was made', async () => {
    const wanted = {
      overlay: 'policy-only',
      components: ['minimal', 'openshift'],
      image,
      version: '0.1.0',
    } as const;
    const { chart: other } = await writeInstallation(join(folder.path, 'other'), wanted);
    expect(parse(readFileSync(join(other, 'values.yaml'), 'utf8'))).toMatchObject({
      kubevirtNamespace: 'openshift-cnv',
      components: { policyOnly: true, minimal: true, prometheus: false },
    });
    expect(readFileSync(join(other, 'templates/deployment.yaml'), 'utf8')).toBe(
      read('templates/deployment.yaml'),
    );
  });
});

interface Pod {
  nodeSelector?: object;
  tolerations?: object[];
  affinity?: Record<string, object>;
  priorityClassName?: string;
  containers: { image: string; resources: object }[];
}
interface Workload extends KubernetesObject {
  spec: { replicas?: number; template: { spec: Pod } };
}

const named = <T extends KubernetesObject>(
  objects: readonly KubernetesObject[],
  kind: string,
  name: string,
): T => {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  expect(found).toHaveLength(1);
  return found[0] as T;
};
const podOf = (objects: readonly KubernetesObject[], kind: string, name: string): Pod =>
  named<Workload>(objects, kind, name).spec.template.spec;

describe('the values', () => {
  const objectsWith = (values: object): Promise<KubernetesObject[]> => helmObjects(chart, { values });

  test('image is that of every container', async () => {
    const other = 'registry.example:5000/other@sha256:' + '0123456789abcdef'.repeat(4);
    const text = JSON.stringify(await objectsWith({ image: other, components: { liveMigration: true } }));
    const images = [...text.matchAll(/"image":"([^"]*)"/g)].map(([, found]) => found);
    // Six functions, `live`, its watcher and the guard.
    expect(images).toEqual(Array.from({ length: 9 }, () => other));
  });

  test('imagePullSecrets are those of every service account', async () => {
    const imagePullSecrets = [{ name: 'registry' }];
    const objects = await objectsWith({ imagePullSecrets });
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount');
    expect(accounts.length).toBeGreaterThan(7);
    for (const account of accounts) expect(account).toMatchObject({ imagePullSecrets });
  });

  test('guard.* are those of the guard, and its nodes those of the live watcher', async () => {
    const nodes = {
      nodeSelector: { 'node-role.kubernetes.io/infra': '' },
      tolerations: [{ key: 'infra', operator: 'Exists', effect: 'NoSchedule' }],
    };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
    const objects = await objectsWith({
      components: { liveMigration: true },
      guard: {
        ...nodes,
        ...{ replicas: 3, priorityClassName: 'infra-critical', affinity: { nodeAffinity } },
        resources: { limits: { memory: '512Mi' } },
      },
    });
    expect(named<Workload>(objects, 'Deployment', 'mtq-guard').spec.replicas).toBe(3);
    expect(podOf(objects, 'Deployment', 'mtq-guard')).toMatchObject({
      ...nodes,
      priorityClassName: 'infra-critical',
      affinity: { nodeAffinity, podAntiAffinity: expect.any(Object) },
      containers: [{ resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '512Mi' } } }],
    });
    expect(podOf(objects, 'Deployment', 'mtq-live-watcher')).toMatchObject(nodes);
    expect(podOf(objects, 'Service', 'lock')).not.toHaveProperty('nodeSelector');
    expect(named(objects, 'ResourceQuota', 'mtq-guard-critical')).toMatchObject({
      spec: { scopeSelector: { matchExpressions: [{ values: ['infra-critical'] }] } },
    });
  });

  test.each(['lock', 'live'])('functions.* are those of function %s', async (name) => {
    const functions = {
      resources: { requests: { cpu: '200m', memory: '128Mi' }, limits: { memory: '300Mi' } },
      nodeSelector: { infra: 'true' },
      tolerations: [{ key: 'infra', operator: 'Exists' }],
    };
    const objects = await objectsWith({ components: { liveMigration: true }, functions });
    const { resources, ...nodes } = functions;
    expect(podOf(objects, 'Service', name)).toMatchObject({ ...nodes, containers: [{ resources }] });
    expect(podOf(objects, 'Deployment', 'mtq-guard')).not.toHaveProperty('nodeSelector');
  });

  test('kubevirtNamespace is that of every process and of every policy', async () => {
    const objects = await objectsWith({ kubevirtNamespace: '42', components: { liveMigration: true } });
    const workloads = objects.filter(
      ({ kind, apiVersion = '' }) => kind === 'Deployment' || apiVersion.startsWith('serving.'),
    );
    const set = workloads.filter((workload) =>
      JSON.stringify(workload).includes('{"name":"KUBEVIRT_NAMESPACE","value":"42"}'),
    );
    // The live watcher reads KubeVirt's objects, but not its namespace.
    expect(
      workloads.filter((workload) => !set.includes(workload)).map(({ metadata }) => metadata.name),
    ).toEqual(['mtq-live-watcher']);
    const text = JSON.stringify(objects);
    expect(text).not.toMatch(/serviceaccount:kubevirt:|'kubevirt'\]/);
    expect(text.match(/serviceaccount:42:kubevirt-controller/g)).toHaveLength(2);
    expect(text.match(/'default', 'mtq-system', '42'\]/g)?.length).toBeGreaterThan(2);
  });

  test('prometheus.labels are those by which a Prometheus selects', async () => {
    const labels = { release: 'kube-prometheus-stack' };
    const objects = await objectsWith({ components: { prometheus: true }, prometheus: { labels } });
    for (const kind of ['ServiceMonitor', 'PrometheusRule'])
      expect(named(objects, kind, 'mtq-guard').metadata.labels).toEqual({
        ...labels,
        'app.kubernetes.io/part-of': 'managed-tenant-quota',
      });
  });

  test.each<[string, object, string]>([
    ['an unknown value', { replicas: 3 }, 'replicas'],
    ['an unknown value of the guard', { guard: { replica: 3 } }, 'replica'],
    ['a component that is a value of its own', { components: { openshift: true } }, 'openshift'],
    ['a switch that is text', { components: { minimal: 'yes' } }, 'minimal'],
    [
      'live migration without webhooks',
      { components: { policyOnly: true, liveMigration: true } },
      'liveMigration',
    ],
    ['no guard', { guard: { replicas: 0 } }, 'replicas'],
    ['a single guard, which a drain could not evict', { guard: { replicas: 1 } }, 'replicas'],
    ['more guards than their quota has pods', { guard: { replicas: 10 } }, 'replicas'],
    ['a guard without a priority', { guard: { priorityClassName: '' } }, 'priorityClassName'],
    ['a guard without limits', { guard: { resources: { limits: null } } }, 'limits'],
    [
      'a function without a memory limit',
      { functions: { resources: { limits: { memory: null } } } },
      'memory',
    ],
    ['an amount that is none', { guard: { resources: { limits: { memory: '1 GB' } } } }, 'memory'],
    ['an image without a version', { image: 'registry.example:5000/mtq' }, 'image'],
    ['the placeholder of an image', { image: 'managed-tenant-quota:{THE-IMAGE-IS-NOT-SET}' }, 'image'],
    ['no image', { image: null }, 'image'],
    ['CEL as a namespace', { kubevirtNamespace: "x' || true || '" }, 'kubevirtNamespace'],
    ['another label part-of', { prometheus: { labels: { 'app.kubernetes.io/part-of': 'x' } } }, 'part-of'],
    ['a pull secret without a name', { imagePullSecrets: ['registry'] }, 'imagePullSecrets'],
    ['a misspelt toleration', { guard: { tolerations: [{ keys: 'infra' }] } }, 'keys'],
  ])('refuse %s', async (_what, values, where) => {
    const refused = objectsWith(values);
    await expect(refused).rejects.toThrow("values don't meet the specifications of the schema");
    await expect(refused).rejects.toThrow(where);
  });

  test('have a comment each, unless it is the content of one that has', () => {
    const keys = read('values.yaml').split('\n');
    const uncommented = keys.filter(
      (line, index) => /^(?: {2})?\w+:/.test(line) && !/^ *#/.test(keys[index - 1] ?? ''),
    );
    expect(uncommented).toEqual([]);
    expect(keys.filter((line) => line.length > 120)).toEqual([]);
  });
});

describe('Helm', () => {
  test('finds nothing wrong', async () => {
    const flags = ['--strict', '--kube-version', '1.30.0'];
    expect(await helm(['lint', chart], { flags })).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  /** The notes as an object, because Helm shows them only when it installs. */
  const notesOf = async (values: object, namespace: string): Promise<string> => {
    const copy = join(folder.path, 'with-notes');
    cpSync(chart, copy, { recursive: true });
    renameSync(join(copy, 'templates/NOTES.txt'), join(copy, 'notes.txt'));
    const text = '{{ tpl (.Files.Get "notes.txt") . | toJson }}';
    writeFileSync(join(copy, 'templates/notes.yaml'), `metadata: { name: notes }\ntext: ${text}\n`);
    const flags = ['--namespace', namespace, '--show-only', 'templates/notes.yaml'];
    const [notes] = await helmObjects(copy, { values, flags });
    return (notes as unknown as { text: string }).text;
  };

  const RESTRICTED = 'pod-security.kubernetes.io/enforce=restricted';
  const METRICS = 'metrics=enabled';
  const LIVE = 'config/components/live-migration/namespace';
  test.each<[string, object, string, string[]]>([
    ['by default', {}, 'default', []],
    ['into our own namespace', {}, 'mtq-system', [RESTRICTED]],
    ['with prometheus', { components: { prometheus: true } }, 'default', [METRICS]],
    ['with live migration', { components: { liveMigration: true } }, 'default', [LIVE]],
  ])('says what to do next, %s', async (_what, values, namespace, said) => {
    const notes = await notesOf(values, namespace);
    expect(notes).not.toMatch(/\{\{|<no value>/);
    expect(notes).toContain('rollout status deployment/mtq-guard');
    expect([RESTRICTED, METRICS, LIVE].filter((text) => notes.includes(text))).toEqual(said);
  });

  test('does not make our namespace a second time', async () => {
    const namespaces = async (namespace: string): Promise<number> =>
      (await helmObjects(chart, { flags: ['--namespace', namespace] })).filter(
        ({ kind }) => kind === 'Namespace',
      ).length;
    expect([await namespaces('mtq-system'), await namespaces('default')]).toEqual([0, 1]);
  });
});

test('the chart has name and versions', () => {
  expect(parse(read('Chart.yaml'))).toMatchObject({
    ...{ apiVersion: 'v2', name: 'managed-tenant-quota', version: '0.1.0', appVersion: '0.1.0' },
  });
});

test('a manifest that contains an action of Helm is refused', () => {
  const objects = objectsOf(
    "{ apiVersion: v1, kind: ConfigMap, metadata: { name: x }, data: { y: '{{ z }}' } }",
  );
  const rendered = { on: [], objects };
  const make = (): unknown =>
    chartOf({ sampled: [rendered], byDefault: rendered, version: '0.1.0', image: IMAGE });
  expect(make).toThrow('Helm');
});

import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';
import { chartOf } from '../../hack/manifests/chart.ts';
import { parseImage } from '../cluster/image.ts';
import { renderInstallation, type Component } from '../cluster/overlay.ts';

const IMAGE = 'registry.example/mtq:0.1.0';
const ACTION = /\{\{-? ?(.*?) ?\}\}/gs;

let chart: Record<string, string>;
let manifests: KubernetesObject[];

beforeAll(async () => {
  const text = await renderInstallation({ overlay: 'default', components: [] });
  chart = chartOf({ manifests: text, version: '0.1.0', image: IMAGE });
  const image = parseImage(IMAGE);
  manifests = objectsOf(await renderInstallation({ overlay: 'default', components: [], image }));
});

const templates = (): string =>
  Object.entries(chart)
    .filter(([name]) => name.startsWith('templates/'))
    .map(([, text]) => text)
    .join('---\n');

/** The chart's templates as Helm renders them, for a release in another namespace than mtq-system. */
const filled = (): KubernetesObject[] =>
  objectsOf(
    templates().replaceAll(ACTION, (_all, action: string) =>
      action.startsWith('required') ? `"${IMAGE}"` : '',
    ),
  );

const sorted = (objects: readonly KubernetesObject[]): KubernetesObject[] =>
  objects.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)));
const keyOf = ({ apiVersion = '', kind = '', metadata }: KubernetesObject): string =>
  `${apiVersion} ${kind} ${metadata.name}`;

describe('the chart', () => {
  test('installs the objects that kustomize renders, and keeps the CRD at uninstall', () => {
    const asHelm = filled().map((object) => {
      const { annotations: { 'helm.sh/resource-policy': policy, ...annotations } = {}, ...metadata } =
        object.metadata;
      if (policy !== undefined) expect([object.kind, policy]).toEqual(['CustomResourceDefinition', 'keep']);
      const kept = Object.keys(annotations).length === 0 ? {} : { annotations };
      return { ...object, metadata: { ...metadata, ...kept } };
    });
    expect(sorted(asHelm)).toEqual(sorted(manifests));
    expect(chart['templates/customresourcedefinition.yaml']).toContain('keep');
  });

  test('has only these template actions: the image is required, the namespace may already exist', () => {
    const actions = [...templates().matchAll(ACTION)].map(([, action = '']) => action);
    expect(new Set(actions)).toEqual(
      new Set([
        expect.stringMatching(/^required ".*" \.Values\.image \| quote$/),
        'if ne .Release.Namespace "mtq-system"',
        'end',
      ]),
    );
    expect(actions.filter((action) => action.startsWith('required'))).toHaveLength(7);
  });

  test('has name, versions and image', () => {
    expect(parse(chart['Chart.yaml'] ?? '')).toMatchObject({
      apiVersion: 'v2',
      version: '0.1.0',
      appVersion: '0.1.0',
    });
    expect(parse(chart['values.yaml'] ?? '')).toEqual({ image: IMAGE });
  });
});

test.each<Component>(['minimal', 'live-migration'])(
  'the image of what component %s adds is the chart’s value too',
  async (component) => {
    const text = await renderInstallation({ overlay: 'default', components: [component] });
    const written = Object.values(chartOf({ manifests: text, version: '0.1.0', image: IMAGE })).join('\n');
    const images = written
      .split('\n')
      .filter((line) => /^\s*(?:- )?image: /.test(line) && !line.includes(IMAGE));
    expect(images.length).toBeGreaterThan(1);
    expect(images.filter((line) => !line.includes('required "image'))).toEqual([]);
  },
);

test('the chart refuses a manifest that contains a Helm action', () => {
  const manifests = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\ndata: { y: "{{ z }}" }\n';
  expect(() => chartOf({ manifests, version: '0.1.0', image: IMAGE })).toThrow('Helm');
});

import { Certificate, Issuer } from '@kubernetes-models/cert-manager/cert-manager.io/v1';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { readGuardSettings, readSettings } from '../../functions/runtime/settings.ts';
import { STEPS } from '../../functions/steps.ts';
import { objectsOf, render } from '../cluster/controlplane/kustomize.ts';
import { knativeObjects } from '../cluster/eventing/manifests.ts';
import { parseImage, PLACEHOLDER } from '../cluster/image.ts';
import {
  componentFolders,
  COMPONENTS,
  componentsFor,
  OVERLAYS,
  renderInstallation,
  type Component,
  type Overlay,
} from '../cluster/overlay.ts';
import { OLDEST } from '../../webhook/observability/compatibility.ts';
import type { Role } from '../support/environment/roles.ts';
import { CERTIFICATES_SECRET } from '../../webhook/tls/certificates.ts';
import { SERVING_NAMES } from '../../webhook/tls/renewal.ts';
import { knativeProblems } from './knative-rules.ts';

/** Each overlay alone, with each component that goes with it, and with all of them. */
const INSTALLATIONS = OVERLAYS.flatMap((overlay): [string, Overlay, Component[]][] => [
  [overlay, overlay, []],
  ...componentsFor(overlay).map((name): [string, Overlay, Component[]] => [
    `${overlay} with ${name}`,
    overlay,
    [name],
  ]),
  [`${overlay} with everything`, overlay, componentsFor(overlay)],
]);
const IMAGE = 'registry.example/mtq:0.1.0';

interface Workload extends KubernetesObject {
  spec: { template: { spec: { containers: { env?: { name: string; value: string }[] }[] } } };
}

const texts = new Map<string, Promise<string>>();

/** Several tests want the same one, and kustomize takes half a second. */
async function rendered(
  overlay: Overlay,
  components: readonly Component[] = [],
): Promise<KubernetesObject[]> {
  const key = [overlay, ...components].join();
  const text = texts.get(key) ?? renderInstallation({ overlay, components, image: parseImage(IMAGE) });
  texts.set(key, text);
  return objectsOf(await text);
}

const workloads = (objects: readonly KubernetesObject[]): Workload[] =>
  objects.filter(
    ({ apiVersion = '', kind }) =>
      kind === 'Deployment' || (kind === 'Service' && apiVersion.includes('serving.')),
  ) as Workload[];

const imagesOf = (object: KubernetesObject | readonly KubernetesObject[]): string[] =>
  [...JSON.stringify(object).matchAll(/"image":"([^"]*)"/g)].map(([, image = '']) => image);

const environmentOf = ({ spec }: Workload): Record<string, string> =>
  Object.fromEntries((spec.template.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));

test('every folder of config/components is a component that users can choose', async () => {
  const admissionModes = OVERLAYS.filter((name) => name !== 'default');
  expect(await componentFolders()).toEqual([...COMPONENTS, ...admissionModes].toSorted());
});

describe.each(INSTALLATIONS)('%s', (_name, overlay, components) => {
  let objects: KubernetesObject[];

  beforeAll(async () => {
    objects = await rendered(overlay, components);
  });

  test('Knative accepts it', () => {
    expect(knativeProblems(objects)).toEqual([]);
  });

  test('cert-manager accepts it', () => {
    const theirs = objects.filter(({ apiVersion = '' }) => apiVersion.startsWith('cert-manager.io/'));
    for (const object of theirs) {
      const model = object.kind === 'Issuer' ? Issuer : Certificate;
      expect(() => new model(object as never).validate()).not.toThrow();
    }
    expect(theirs).toHaveLength(components.includes('cert-manager') ? 4 : 0);
  });

  test('every function has a small nursery', () => {
    const services = workloads(objects).filter(({ kind }) => kind === 'Service');
    expect(services).not.toEqual([]);
    for (const service of services)
      expect(environmentOf(service)).toMatchObject({ NODE_OPTIONS: '--max-semi-space-size=1' });
  });

  test('every process has settings with which it can start, and the chosen image', () => {
    for (const workload of workloads(objects)) {
      const read = workload.kind === 'Deployment' ? readGuardSettings : readSettings;
      expect(() => read(environmentOf(workload))).not.toThrow();
    }
    expect(new Set(imagesOf(objects))).toEqual(new Set([IMAGE]));
  });

  test('no object is duplicate, and every role binding has a subject', () => {
    const names = objects.map(
      ({ kind = '', apiVersion = '', metadata: { namespace = '', name } }) =>
        `${apiVersion} ${kind} ${namespace}/${name}`,
    );
    expect(new Set(names).size).toBe(names.length);
    const accounts = objects
      .filter(({ kind }) => kind === 'ServiceAccount')
      .map(({ metadata }) => metadata.name);
    const subjects = objects.flatMap(
      (object) => (object as { subjects?: { name: string }[] }).subjects ?? [],
    );
    expect(subjects.filter(({ name }) => !accounts.includes(name))).toEqual([]);
  });
});

test('docs/installing.md names the versions that the guard requires', () => {
  const docs = readFileSync(new URL('../../docs/installing.md', import.meta.url), 'utf8');
  const rows = [...docs.matchAll(/^\| (Kubernetes|Knative|KubeVirt) +\| (\d+\.\d+) /gm)];
  expect(Object.fromEntries(rows.map(([, what = '', version]) => [what.toLowerCase(), version]))).toEqual(
    OLDEST,
  );
});

describe('the image', () => {
  test('is refused while it is unset, and the refusal says where to look', async () => {
    const objects = objectsOf(await renderInstallation({ overlay: 'default', components: [] }));
    const problems = knativeProblems(objects);
    expect(problems).toHaveLength(STEPS.length);
    for (const problem of problems) {
      expect(problem).toContain(`${PLACEHOLDER}:{THE-IMAGE-IS-NOT-SET.see-docs.installing.md}`);
    }
  });

  describe.each(OVERLAYS)('kubectl apply -k config/%s', (overlay) => {
    let clone: string;
    const say = (line: string): void =>
      writeFileSync(join(clone, 'config/image/the-image-to-install.env'), `${line}\n`);

    beforeEach(() => {
      clone = mkdtempSync(join(tmpdir(), 'mtq-clone-'));
      // The developer of this checkout may have set an image.
      for (const folder of ['config', 'sources'])
        cpSync(folder, join(clone, folder), { recursive: true, filter: (path) => !path.endsWith('.env') });
    });

    afterEach(() => {
      rmSync(clone, { recursive: true });
    });

    test('is refused, and the refusal names the file for the image', async () => {
      const message = /config\/image\/the-image-to-install\.env: no such file/;
      await expect(render(join(clone, 'config', overlay))).rejects.toThrow(message);
    });

    test('is refused when that file sets no image', async () => {
      say('image: registry.example/mtq:0.1.0');
      await expect(render(join(clone, 'config', overlay))).rejects.toThrow('data.IMAGE');
    });

    test('installs that image, and otherwise what the tests run', async () => {
      say(`IMAGE=${IMAGE}`);
      expect(await render(join(clone, 'config', overlay))).toEqual(await rendered(overlay));
    });

    // `minimal`: the steps' function and the guard; else the steps, `live`, its watcher and the guard.
    const counts = [['minimal', 2] as const, ['live-migration', STEPS.length + 3] as const];
    test.each(counts.filter(([component]) => componentsFor(overlay).includes(component)))(
      'works from a user’s own kustomization too, also for the objects of %s',
      async (component, count) => {
        say(`IMAGE=${IMAGE}`);
        const admissionMode = overlay === 'default' ? '' : `config/components/${overlay}, `;
        const own = `resources: [config/base]\ncomponents: [${admissionMode}config/components/${component}, config/image]\n`;
        writeFileSync(join(clone, 'kustomization.yaml'), own);
        const images = (await render(clone)).flatMap((object) => imagesOf(object));
        expect(images).toEqual(Array.from({ length: count }, () => IMAGE));
      },
    );
  });
});

describe('live-migration', () => {
  test('is refused with policy-only, and the refusal names the overlay that it goes with', async () => {
    const refused = renderInstallation({ overlay: 'policy-only', components: ['oidc', 'live-migration'] });
    const message = 'component live-migration does not go with overlay policy-only, only with default';
    await expect(refused).rejects.toThrow(message);
  });

  test("is refused by kustomize too, in a user's own kustomization", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mtq-own-'));
    const from = (path: string): string => relative(folder, join('config', path));
    const components = ['policy-only', 'live-migration'].map((name) => from(`components/${name}`));
    writeFileSync(join(folder, 'kustomization.yaml'), stringify({ resources: [from('base')], components }));
    await expect(render(folder)).rejects.toThrow(/no resource matches .*ValidatingWebhookConfiguration/);
    rmSync(folder, { recursive: true });
  });
});

describe('minimal', () => {
  test('has one function, triggered by every event that triggers a step', async () => {
    const { services, triggers } = knativeObjects(await rendered('default', ['minimal']));
    expect(services.map(({ metadata }) => metadata.name)).toEqual(['steps']);
    const events = STEPS.flatMap(({ triggers }) => triggers.map(({ type, kind }) => `${type} ${kind ?? ''}`));
    const filters = triggers.map(({ spec }) => spec.filters);
    expect(filters).toHaveLength(1);
    const any = filters[0]?.[0]?.['any'] as { exact: { type: string; kind?: string } }[];
    const found = any.map(({ exact: { type, kind } }) => `${type} ${kind ?? ''}`);
    expect(found.toSorted()).toEqual([...new Set(events)].toSorted());
  });

  test('has the settings of every function', async () => {
    const [steps] = knativeObjects(await rendered('default', ['minimal'])).services;
    const { services } = knativeObjects(await rendered('default'));
    for (const { metadata, spec } of services) {
      expect(steps?.metadata['labels']).toEqual(metadata['labels']);
      expect(steps?.spec.template.metadata).toEqual(spec.template.metadata);
      const {
        image: _image,
        env: _env,
        ...container
      } = spec.template.spec.containers[0] ?? { image: '', env: [] };
      expect(steps?.spec.template.spec.containers[0]).toMatchObject(container);
    }
  });
});

describe('openshift', () => {
  test.each(OVERLAYS)('%s: no setting says kubevirt instead of openshift-cnv', async (overlay) => {
    const objects = await rendered(overlay, ['openshift']);
    for (const workload of workloads(objects)) {
      expect(environmentOf(workload)).toMatchObject({ KUBEVIRT_NAMESPACE: 'openshift-cnv' });
    }
    expect(JSON.stringify(objects)).not.toContain('system:serviceaccount:kubevirt:');
    const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    const variables = policies.flatMap(
      (policy) => (policy as { spec?: { variables?: { expression: string }[] } }).spec?.variables ?? [],
    );
    expect(variables.filter(({ expression }) => expression === "'kubevirt'")).toEqual([]);
  });
});

/** The workloads that post events: by default, and with one function for all steps. */
const POSTING: readonly (readonly [readonly Component[], readonly string[]])[] = [
  [[], ['mtq-guard', 'progress', 'unlock']],
  [['minimal'], ['mtq-guard', 'steps']],
  [['live-migration'], ['live', 'mtq-guard', 'mtq-live-watcher', 'progress', 'unlock']],
];

const postingIn = (objects: readonly KubernetesObject[]): Workload[] =>
  workloads(objects).filter((workload) => environmentOf(workload)['K_SINK'] !== undefined);

const namesOf = (objects: readonly KubernetesObject[]): string[] =>
  objects.map(({ metadata }) => metadata.name).toSorted();

describe('kafka-broker', () => {
  test.each(POSTING)(
    'with %j every process posts its events to the ingress of the Kafka broker',
    async (others, names) => {
      const posting = postingIn(await rendered('default', ['kafka-broker', ...others]));
      expect(namesOf(posting)).toEqual(names);
      expect(new Set(posting.map((workload) => environmentOf(workload)['K_SINK']))).toEqual(
        new Set(['http://kafka-broker-ingress.knative-eventing.svc.cluster.local/mtq-system/mtq']),
      );
    },
  );
});

test.each([[[]], [['minimal']], [['live-migration']]] satisfies [Component[]][])(
  'with %j every function that is to be started is installed',
  async (components) => {
    const objects = await rendered('default', components);
    const functions = objects.filter(({ apiVersion = '' }) => apiVersion.startsWith('serving.knative.dev/'));
    const known = functions.map(({ metadata }) => `${metadata.name}.mtq-system.svc.cluster.local`);
    const prewarmed = workloads(objects).flatMap(
      (workload) =>
        readSettings({ ...environmentOf(workload), STEP: undefined, K_SINK: 'http://broker' }).WAKE_URLS,
    );
    expect(prewarmed.length).toBeGreaterThan(0);
    expect(prewarmed.map((url) => new URL(url).hostname).filter((host) => !known.includes(host))).toEqual([]);
  },
);

describe('cert-manager', () => {
  test("issues a certificate for the guard's names into the guard's Secret, and injects its CA into the guard's webhooks", async () => {
    const objects = await rendered('default', ['cert-manager']);
    const certificate = objects.find(
      ({ kind, metadata }) => kind === 'Certificate' && metadata.name === 'mtq-guard',
    );
    expect(certificate).toMatchObject({
      spec: { dnsNames: [...SERVING_NAMES], secretName: CERTIFICATES_SECRET },
    });
    const webhooks = objects.find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
    expect(webhooks?.metadata.annotations).toEqual({
      'cert-manager.io/inject-ca-from': 'mtq-system/mtq-guard',
    });
  });

  test.each<[readonly Component[]]>([[[]], [['live-migration']]])(
    'with %j leaves the guard no right to write its certificate or its CA bundle',
    async (others) => {
      const objects = await rendered('default', ['cert-manager', ...others]);
      const rules = objects.flatMap((object) =>
        object.metadata.name.includes('guard') ? ((object as Partial<Role>).rules ?? []) : [],
      );
      const written = rules.filter(({ verbs }) => verbs.includes('update'));
      expect(written.flatMap(({ resources }) => resources)).toEqual(['namespaces', 'resourcequotas/status']);
    },
  );
});

describe('oidc', () => {
  test.each(POSTING)(
    'with %j who posts has a token for this Broker, and may read it',
    async (others, names) => {
      const posting = postingIn(await rendered('default', ['oidc', ...others]));
      expect(namesOf(posting)).toEqual(names);
      for (const workload of posting) {
        const text = JSON.stringify(workload);
        expect(text).toContain('"audience":"eventing.knative.dev/broker/mtq-system/mtq"');
        expect(environmentOf(workload)['K_SINK_TOKEN']).toBe('/var/run/secrets/mtq-broker/token');
        if (workload.kind === 'Deployment')
          expect(text).toContain('--allow-fs-read=/var/run/secrets/mtq-broker');
      }
    },
  );
});

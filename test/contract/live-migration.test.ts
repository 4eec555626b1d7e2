import { beforeAll, describe, expect, test } from '@jest/globals';
import { FORKLIFT_KIND, LIVE_KIND } from '../../functions/domain/live/names.ts';
import { SYSTEM_NAMESPACE, WEBHOOK, sourceOf } from '../../functions/domain/names.ts';
import {
  HOOKS,
  LIVE_WATCHER,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  STORAGE_MAPS,
} from '../../functions/kubernetes/live-resources.ts';
import { readGuardSettings } from '../../functions/runtime/settings.ts';
import { objectsOf, render } from '../cluster/controlplane/kustomize.ts';
import { knativeObjects } from '../cluster/eventing/manifests.ts';
import { parseImage } from '../cluster/image.ts';
import { renderInstallation } from '../cluster/overlay.ts';
import { found, objects as byDefault, type Manifest } from './rendered.ts';

const WATCHED = [PLANS, PLAN_MIGRATIONS, PROVIDERS, STORAGE_MAPS, NETWORK_MAPS, HOOKS];
const ACCOUNT = 'mtq-live';

let objects: Manifest[];
let added: Manifest[];

beforeAll(async () => {
  const image = parseImage('registry.example/mtq:0.1.0');
  objects = objectsOf(
    await renderInstallation({ overlay: 'default', components: ['live-migration'], image }),
  );
  const known = new Set(byDefault.map(keyOf));
  added = objects.filter((object) => !known.has(keyOf(object)));
});

const keyOf = ({ kind = '', metadata: { namespace = '', name } }: Manifest): string =>
  `${kind} ${namespace}/${name}`;

/** Rights through ClusterRoles, as "get plans". */
const rightsOf = (account: string): string[] => {
  const roles = objects
    .filter(
      ({ kind, subjects = [] }) =>
        kind === 'ClusterRoleBinding' && subjects.some(({ name }) => name === account),
    )
    .map(({ roleRef }) => roleRef?.name);
  const rules = added
    .filter(({ kind, metadata }) => kind === 'ClusterRole' && roles.includes(metadata.name))
    .flatMap((role) => role.rules ?? []);
  return rules.flatMap(({ resources, verbs }) =>
    verbs.flatMap((verb) => resources.map((resource) => `${verb} ${resource}`)),
  );
};

test('adds these objects, and no CRD', () => {
  expect(added.map(keyOf).toSorted()).toEqual([
    'ApiServerSource mtq-system/mtq-live',
    'ClusterRole /managed-tenant-quota-guard-live',
    'ClusterRole /managed-tenant-quota-guard-live-sweeps',
    'ClusterRole /managed-tenant-quota-live',
    'ClusterRole /managed-tenant-quota-live-member',
    'ClusterRole /managed-tenant-quota-live-source',
    'ClusterRole /managed-tenant-quota-live-watcher',
    'ClusterRoleBinding /managed-tenant-quota-guard-live',
    'ClusterRoleBinding /managed-tenant-quota-guard-live-sweeps',
    'ClusterRoleBinding /managed-tenant-quota-live',
    'ClusterRoleBinding /managed-tenant-quota-live-member',
    'ClusterRoleBinding /managed-tenant-quota-live-source',
    'ClusterRoleBinding /managed-tenant-quota-live-watcher',
    'Deployment mtq-system/mtq-live-watcher',
    'MutatingWebhookConfiguration /mtq-guard-live',
    'Role mtq-system/mtq-live-watcher-scale',
    'RoleBinding mtq-system/mtq-live-watcher-scale',
    'Service mtq-system/live',
    'ServiceAccount mtq-system/mtq-live',
    'ServiceAccount mtq-system/mtq-live-source',
    'ServiceAccount mtq-system/mtq-live-watcher',
    'Trigger mtq-system/mtq-live',
    'ValidatingAdmissionPolicy /moved-vms.mtq.kubevirt.io',
    'ValidatingAdmissionPolicyBinding /moved-vms.mtq.kubevirt.io',
  ]);
});

test('the guard reviews by it only where it is installed', () => {
  const isOn = (of: readonly Manifest[]): string => {
    const guard = found(
      of.find(({ kind }) => kind === 'Deployment'),
      'Deployment',
    );
    const { spec } = guard as {
      spec: { template: { spec: { containers: [{ env: { name: string; value: string }[] }] } } };
    };
    const env = Object.fromEntries(
      spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]),
    );
    return readGuardSettings(env).LIVE_MIGRATION;
  };
  expect([isOn(byDefault), isOn(objects)]).toEqual(['off', 'on']);
});

describe('the source', () => {
  test('watches the kinds that users write, and Jobs of hooks, and posts nothing of them', () => {
    const source = found(knativeObjects(added).sources[0], 'source');
    expect(source.spec).toMatchObject({
      mode: 'Reference',
      namespaceSelector: {},
      serviceAccountName: 'mtq-live-source',
      sink: { ref: { kind: 'Broker', name: 'mtq' } },
    });
    expect(source.spec.resources).toEqual([
      ...Object.values(FORKLIFT_KIND),
      {
        ...LIVE_KIND.job,
        selector: { matchExpressions: [{ key: 'live.mtq.kubevirt.io/migration', operator: 'Exists' }] },
      },
    ]);
  });

  test('may read what it watches, and nothing else', () => {
    const wanted = [...WATCHED.map(({ plural }) => plural), 'jobs'].flatMap((resource) =>
      ['get', 'list', 'watch'].map((verb) => `${verb} ${resource}`),
    );
    expect(rightsOf('mtq-live-source').toSorted()).toEqual(wanted.toSorted());
  });

  test('has a Trigger for each change of each kind', () => {
    const { triggers, sources } = knativeObjects(added);
    const any = triggers[0]?.spec.filters?.[0]?.['any'] as {
      exact: Readonly<Record<string, string>>;
    }[];
    const changes = (sources[0]?.spec.resources ?? []).flatMap(({ kind }) =>
      ['add', 'update', 'delete'].map((change) => ({ type: `dev.knative.apiserver.ref.${change}`, kind })),
    );
    const elsewhere = [{ source: sourceOf('live-watcher') }];
    const own = ['progressed', 'sweep'].map((what) => ({ type: `io.kubevirt.mtq.live.${what}` }));
    expect(any.map(({ exact }) => exact)).toEqual([...changes, ...elsewhere, ...own]);
    expect(triggers[0]?.spec.subscriber).toMatchObject({ ref: { kind: 'Service', name: 'live' } });
  });
});

describe('rights', () => {
  test('of a provider’s token on another cluster are those of `live` here, and to watch', async () => {
    const member = (await render('config/live-member')) as Manifest[];
    const names = member.map(keyOf).toSorted();
    expect(names).toEqual([
      'ClusterRole /managed-tenant-quota-live-member',
      'ClusterRole /managed-tenant-quota-live-member-watch',
      'ClusterRoleBinding /managed-tenant-quota-live-member',
      'ClusterRoleBinding /managed-tenant-quota-live-member-watch',
      `ServiceAccount ${SYSTEM_NAMESPACE}/${ACCOUNT}`,
      'ValidatingAdmissionPolicy /moved-vms.mtq.kubevirt.io',
      'ValidatingAdmissionPolicyBinding /moved-vms.mtq.kubevirt.io',
    ]);
    const verbs = member.flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs));
    expect(new Set(verbs)).toEqual(new Set(['get', 'list', 'watch', 'create', 'update', 'delete']));
    expect(JSON.stringify(member)).not.toMatch(/secrets|configmaps|forklift/);
  });

  test('`live` may delete what it gives an owner, as OpenShift demands', () => {
    const owned = ['datavolumes', 'migrations', 'persistentvolumeclaims'];
    const rights = rightsOf(ACCOUNT);
    expect(owned.filter((plural) => !rights.includes(`delete ${plural}`))).toEqual([]);
    // A volume's owner blocks the deletion of the VM.
    expect(rights.filter((right) => right.includes('/finalizers'))).toEqual([
      'update virtualmachines/finalizers',
    ]);
  });

  test('`live` may take a restart off a VM whose guest has left, and writes no other status of KubeVirt', () => {
    expect(rightsOf(ACCOUNT).filter((right) => /virtualmachine.*\/status/.test(right))).toEqual([
      'update virtualmachines/status',
    ]);
  });

  test('no ClusterRole has Secrets, nor anything of KubeVirt’s own namespace', () => {
    const roles = added.filter(({ kind }) => kind === 'ClusterRole');
    expect(JSON.stringify(roles)).not.toMatch(/secrets|configmaps/);
    expect(JSON.stringify(roles)).not.toContain('"*"');
    // A Job runs with any account of its namespace.
    expect(rightsOf(ACCOUNT).filter((right) => right.endsWith(' jobs'))).toEqual(['get jobs']);
  });

  test('Secrets and ConfigMaps are for the namespaces that take part, by a Role to apply there', async () => {
    const template = (await render('config/components/live-migration/namespace')) as Manifest[];
    expect(template.map(keyOf)).toEqual([
      'Role /mtq-live-copies',
      'Role /mtq-live-watcher-secrets',
      'RoleBinding /mtq-live-copies',
      'RoleBinding /mtq-live-watcher-secrets',
    ]);
    const [role, readers, binding, ofReaders] = template;
    const given = [role, readers].map((one) => one?.rules?.map(({ resources }) => resources));
    expect(given).toEqual([[['secrets'], ['configmaps'], ['serviceaccounts'], ['jobs']], [['secrets']]]);
    expect(readers?.rules?.map(({ verbs }) => verbs)).toEqual([['get']]);
    const subject = { kind: 'ServiceAccount', namespace: SYSTEM_NAMESPACE };
    expect(binding?.subjects).toEqual([{ ...subject, name: ACCOUNT }]);
    expect(ofReaders?.subjects).toEqual([{ ...subject, name: LIVE_WATCHER.at.name }]);
  });

  test('the guard may read plans, their runs and providers, ask for users’ rights, and keep its CA bundle', () => {
    expect(rightsOf('mtq-guard').toSorted()).toEqual([
      'create subjectaccessreviews',
      'get mutatingwebhookconfigurations',
      'get plans',
      'get providers',
      'list migrations',
      'list plans',
      'update mutatingwebhookconfigurations',
      'watch migrations',
      'watch plans',
    ]);
  });
});

test('the webhook fails closed, after a short timeout', () => {
  const configuration = added.find(({ kind }) => kind === 'MutatingWebhookConfiguration');
  expect(configuration?.metadata.name).toBe(WEBHOOK.liveConfiguration);
  expect(configuration?.webhooks).toMatchObject([
    {
      name: WEBHOOK.live,
      failurePolicy: 'Fail',
      sideEffects: 'None',
      timeoutSeconds: 3,
      clientConfig: {
        service: { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard', path: '/review', port: 443 },
      },
    },
  ]);
});

describe('the watcher of other clusters', () => {
  const inSystem = (kind: string, name: string): Manifest =>
    found(
      added.find((object) => object.kind === kind && object.metadata.name === name),
      kind,
    );

  test('does not run until `live` scales it up', () => {
    expect(inSystem('Deployment', LIVE_WATCHER.at.name)).toMatchObject({ spec: { replicas: 0 } });
  });

  test('is scaled by `live` and the guard alone, which may change nothing else of it', () => {
    const { rules, metadata } = inSystem('Role', 'mtq-live-watcher-scale');
    expect(rules).toEqual([
      {
        apiGroups: ['apps'],
        resources: ['deployments'],
        resourceNames: [LIVE_WATCHER.at.name],
        verbs: ['get'],
      },
      {
        apiGroups: ['apps'],
        resources: ['deployments/scale'],
        resourceNames: [LIVE_WATCHER.at.name],
        verbs: ['patch'],
      },
    ]);
    const { subjects = [] } = inSystem('RoleBinding', metadata.name);
    expect(subjects.map(({ name }) => name)).toEqual(['mtq-guard', ACCOUNT]);
  });

  test('may read plans, their runs and providers, watch what moves here, and list what has an address', () => {
    const watched = [
      ...['datavolumes', 'migrations', 'plans'],
      ...['virtualmachineinstancemigrations', 'virtualmachineinstances', 'virtualmachines'],
    ];
    expect(rightsOf(LIVE_WATCHER.at.name).toSorted()).toEqual([
      ...['get namespaces', 'get providers'],
      ...[...watched, 'pods', 'services'].toSorted().map((plural) => `list ${plural}`),
      ...watched.map((plural) => `watch ${plural}`),
    ]);
  });
});

import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  ANNOTATION,
  CONDITION,
  EVENT,
  GROUP,
  isReserved,
  LABEL,
  OUR_USERS,
  SERVICE_ACCOUNT,
  SYSTEM_NAMESPACE,
  WEBHOOK,
} from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { VMMRQS } from '../../functions/kubernetes/resources.ts';
import { readGuardSettings, readSettings, STEP_NAMES } from '../../functions/settings.ts';
import { STEPS } from '../../functions/steps.ts';
import { render } from '../../local/controlplane/kustomize.ts';
import { knativeObjects, type KnativeService, type Trigger } from '../../local/eventing/manifests.ts';
import { guessPlural } from '../../local/eventing/source.ts';

/** Of a rendered object, what these tests look at. */
interface Manifest extends KubernetesObject {
  spec?: unknown;
  rules?: PolicyRule[];
  subjects?: { kind: string; name: string; namespace: string }[];
  roleRef?: { kind: string; name: string };
  webhooks?: Webhook[];
}

interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface Webhook {
  name: string;
  timeoutSeconds: number;
  failurePolicy: string;
  sideEffects: string;
  matchPolicy: string;
  clientConfig: { service: { namespace: string; name: string; path: string; port: number } };
  namespaceSelector?: { matchLabels: Record<string, string> };
  objectSelector?: unknown;
  matchConditions: { name: string; expression: string }[];
}

interface GuardContainer {
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
}

let objects: Manifest[];
let knative: ReturnType<typeof knativeObjects>;

beforeAll(async () => {
  objects = await render('config/base');
  knative = knativeObjects(objects);
});

describe('all of it', () => {
  const CLUSTER_SCOPED = [
    'Namespace',
    'CustomResourceDefinition',
    'ClusterRole',
    'ClusterRoleBinding',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ];

  test('is in our namespace, or belongs to no namespace', () => {
    for (const { kind = '', metadata } of objects) {
      const wanted = CLUSTER_SCOPED.includes(kind) ? undefined : SYSTEM_NAMESPACE;
      expect([kind, metadata.name, metadata.namespace]).toEqual([kind, metadata.name, wanted]);
    }
  });

  test('says what it is part of', () => {
    for (const { metadata } of objects) {
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'managed-tenant-quota' });
    }
  });

  test('has one image', () => {
    const images = [...JSON.stringify(objects).matchAll(/"image":"([^"]*)"/g)].map(([, image]) => image);
    expect(images).toHaveLength(STEP_NAMES.length + 1);
    expect(new Set(images).size).toBe(1);
  });
});

describe('the functions', () => {
  test('are the steps, no more and no fewer', () => {
    expect(knative.services.map(({ metadata }) => metadata.name).sort()).toEqual([...STEP_NAMES].sort());
  });

  test.each(STEP_NAMES)('%s: says which step it is, and has settings it can start with', (step) => {
    expect(readSettings(environmentOf(step)).STEP).toBe(step);
  });

  test.each(STEP_NAMES)('%s: leaves PORT to Knative', (step) => {
    expect(environmentOf(step)).not.toHaveProperty('PORT');
  });

  test.each(STEP_NAMES)('%s: runs as its own service account', (step) => {
    expect(serviceOf(step).spec.template.spec.serviceAccountName).toBe(SERVICE_ACCOUNT[step]);
  });

  test.each(STEP_NAMES)('%s: scales to zero, and is not to be had from outside', (step) => {
    const { metadata, spec } = serviceOf(step);
    expect(metadata['labels']).toMatchObject({ 'networking.knative.dev/visibility': 'cluster-local' });
    expect(spec.template.metadata?.annotations).toMatchObject({ 'autoscaling.knative.dev/min-scale': '0' });
  });

  test.each(STEP_NAMES)('%s: fits the restricted Pod Security Standard', (step) => {
    expect(serviceOf(step).spec.template.spec.containers[0]).toMatchObject({
      securityContext: {
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
  });

  test('feasibility wakes the other four, where they say that they are ready', () => {
    const others = STEP_NAMES.filter((step) => step !== 'feasibility');
    const urls = others.map(
      (step) => `http://${step}.${SYSTEM_NAMESPACE}.svc.cluster.local${readiness(step)}`,
    );
    expect(readSettings(environmentOf('feasibility')).WAKE_URLS).toEqual(urls);
  });

  test.each(STEP_NAMES)('%s: may take as long as its Trigger waits', (step) => {
    const { timeoutSeconds } = serviceOf(step).spec.template.spec;
    expect(triggerOf(step).spec.delivery?.timeout).toBe(`PT${timeoutSeconds}S`);
    expect(timeoutSeconds).toBeGreaterThan(step === 'feasibility' ? 20 : 5);
  });
});

describe('the Broker', () => {
  test('is one, and does not make the source wait for the functions', () => {
    expect(knative.brokers.map(({ metadata }) => metadata)).toMatchObject([
      { name: 'mtq', annotations: { 'messaging.knative.dev/async-handler': 'true' } },
    ]);
  });

  test('is where unlock and the guard post', () => {
    const ingress = `http://broker-ingress.knative-eventing.svc.cluster.local/${SYSTEM_NAMESPACE}/mtq`;
    expect(environmentOf('unlock')['K_SINK']).toBe(ingress);
    expect(readGuardSettings(guardEnvironment()).K_SINK).toBe(ingress);
  });
});

describe('the Triggers', () => {
  test('are one for each step', () => {
    const names = knative.triggers.map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual(STEP_NAMES.map((step) => `mtq-${step}`).sort());
  });

  test.each(STEPS)('$name: is woken by what its code says, and by nothing else', ({ name, wakesOn }) => {
    const { filters, filter, broker, subscriber } = triggerOf(name).spec;
    const wanted = wakesOn.map((wake) => ({ exact: { ...wake } }));
    expect(filters).toEqual([{ any: expect.arrayContaining(wanted) }]);
    expect(filters?.[0]?.['any']).toHaveLength(wanted.length);
    expect(filter).toBeUndefined();
    expect(broker).toBe('mtq');
    expect(subscriber).toEqual({ ref: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name } });
  });

  test.each(STEP_NAMES)('%s: tries four times, and gives what fails to the guard', (step) => {
    const { timeout: _, ...delivery } = triggerOf(step).spec.delivery ?? {};
    expect(delivery).toEqual({
      retry: 3,
      backoffPolicy: 'linear',
      backoffDelay: 'PT1S',
      deadLetterSink: { uri: `http://mtq-guard.${SYSTEM_NAMESPACE}.svc.cluster.local:8080/dead-letter` },
    });
  });

  test('every event of ours wakes somebody, but the one that is for whoever wants to know', () => {
    const woken = new Set(STEPS.flatMap(({ wakesOn }) => wakesOn.map(({ type }) => type)));
    const nobody = Object.values(EVENT).filter((type) => !woken.has(type));
    expect(nobody).toEqual([EVENT.migrationInfeasible]);
  });
});

describe('the source', () => {
  const RAISED = { matchLabels: { [LABEL.raised]: 'true' } };

  test('watches the kinds that wake somebody, in all namespaces, as they are', () => {
    const [{ spec }] = knative.sources as [(typeof knative.sources)[number]];
    const kinds = new Set(STEPS.flatMap(({ wakesOn }) => wakesOn.flatMap(({ kind }) => kind ?? [])));
    expect(spec).toMatchObject({ mode: 'Resource', namespaceSelector: {} });
    expect(spec.resources.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
    expect(spec.sink).toEqual({
      ref: { apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: 'mtq' },
    });
  });

  test('watches no quota but those that are raised: every pod of the cluster would wake a function', () => {
    const resources = knative.sources.flatMap(({ spec }) => spec.resources);
    const quotas = resources.filter(({ kind }) => kind === 'ResourceQuota');
    expect(quotas.map(({ selector }) => selector)).toEqual([RAISED]);
    expect(resources.filter(({ kind }) => kind === 'Pod')).toEqual([]);
  });

  test('may read what it watches', () => {
    const [{ spec }] = knative.sources as [(typeof knative.sources)[number]];
    expect(spec.serviceAccountName).toBe(SERVICE_ACCOUNT.source);
    for (const { apiVersion, kind } of spec.resources) {
      const [group, resource] = [apiVersion.includes('/') ? apiVersion.split('/')[0] : '', guessPlural(kind)];
      for (const verb of ['get', 'list', 'watch']) {
        expect(grantedTo('source')).toContain(
          `${verb} ${resource}${group === '' ? '' : `.${String(group)}`}`,
        );
      }
    }
  });
});

describe('rights', () => {
  test('every process has a service account, and nobody else has', () => {
    const accounts = ofKind('ServiceAccount').map(({ metadata }) => metadata.name);
    expect(accounts.sort()).toEqual(Object.values(SERVICE_ACCOUNT).sort());
  });

  test('every binding is of a role that is there to an account that is there', () => {
    const roles = [...ofKind('ClusterRole'), ...ofKind('Role')].map(nameOf);
    const accounts = ofKind('ServiceAccount').map(nameOf);
    for (const { roleRef, subjects = [] } of bindings()) {
      expect(roles).toContain(`${roleRef?.kind ?? ''} ${roleRef?.name ?? ''}`);
      for (const { kind, name, namespace } of subjects) {
        expect(accounts).toContain(`${kind} ${name}`);
        expect(namespace).toBe(SYSTEM_NAMESPACE);
      }
    }
  });

  test('nobody may do everything, anywhere', () => {
    expect(JSON.stringify(objects.map(({ rules }) => rules ?? []))).not.toContain('"*"');
  });

  test('all that is written, and by whom', () => {
    const writers: Record<string, string[]> = {};
    for (const process of Object.keys(SERVICE_ACCOUNT) as (keyof typeof SERVICE_ACCOUNT)[]) {
      for (const right of grantedTo(process).filter((granted) => !/^(get|list|watch) /.test(granted))) {
        (writers[right] ??= []).push(process);
      }
    }
    expect(writers).toEqual({
      'update namespaces': ['lock', 'raise', 'unlock', 'guard'],
      'update resourcequotas': ['lock', 'raise', 'lower', 'guard'],
      'update resourcequotas/status': ['lower', 'guard'],
      'create resourcequotas': ['raise'],
      'patch virtualmachineinstancemigrations.kubevirt.io': ['feasibility', 'lower'],
      [`update ${VMMRQS.plural}/status.${GROUP}`]: ['feasibility', 'raise'],
      'create events': ['feasibility', 'lock', 'raise', 'lower', 'unlock', 'guard'],
      'update validatingwebhookconfigurations.admissionregistration.k8s.io (mtq-guard)': ['guard'],
      'create secrets': ['guard'],
      'update secrets (mtq-guard-certs)': ['guard'],
    });
  });

  test('secrets are read and written in our own namespace only', () => {
    expect(ofKind('ClusterRole').filter((role) => JSON.stringify(role.rules).includes('secrets'))).toEqual(
      [],
    );
  });

  test('the glass is there to be broken, and in nobody’s hand', () => {
    expect(ofKind('ClusterRole').find(({ metadata }) => metadata.name === 'mtq-break-glass')?.rules).toEqual([
      { apiGroups: [GROUP], resources: ['locks'], verbs: ['override'] },
    ]);
    expect(bindings().map(({ roleRef }) => roleRef?.name)).not.toContain('mtq-break-glass');
  });

  test('who may view a namespace sees its VMMRQs; to give one is part of no role that tenants have', () => {
    const prefix = 'rbac.authorization.k8s.io/aggregate-to-';
    const aggregated = ofKind('ClusterRole').flatMap(({ metadata, rules = [] }) =>
      Object.keys(metadata.labels ?? {})
        .filter((label) => label.startsWith(prefix))
        .map((label) => [metadata.name, label.slice(prefix.length), rules.map(({ verbs }) => verbs)]),
    );
    expect(aggregated).toEqual([['mtq-vmmrq-view', 'view', [['get', 'list', 'watch']]]]);
  });

  test('the role to give VMMRQs is there, and nobody has it: that is for the administrator to decide', () => {
    const edit = ofKind('ClusterRole').find(({ metadata }) => metadata.name === 'mtq-vmmrq-edit');
    expect(edit?.rules?.flatMap(({ resources }) => resources)).toEqual([VMMRQS.plural]);
    expect(edit?.rules?.flatMap(({ verbs }) => verbs)).toContain('create');
    expect(bindings().map(({ roleRef }) => roleRef?.name)).not.toContain('mtq-vmmrq-edit');
  });
});

describe('the webhooks', () => {
  test('are two, in one configuration', () => {
    expect(ofKind('ValidatingWebhookConfiguration').map(({ metadata }) => metadata.name)).toEqual([
      WEBHOOK.configuration,
    ]);
    expect(webhooks().map(({ name }) => name)).toEqual([WEBHOOK.locked, WEBHOOK.keys]);
  });

  test.each([WEBHOOK.locked, WEBHOOK.keys])('%s: refuses what the guard did not look at, at once', (name) => {
    expect(webhook(name)).toMatchObject({
      failurePolicy: 'Fail',
      sideEffects: 'None',
      matchPolicy: 'Equivalent',
      clientConfig: {
        service: { namespace: SYSTEM_NAMESPACE, name: 'mtq-guard', path: '/review', port: 443 },
      },
    });
    expect(webhook(name).timeoutSeconds).toBeLessThanOrEqual(3);
  });

  test('locked: looks at namespaces with the label, keys: at all', () => {
    expect(webhook(WEBHOOK.locked).namespaceSelector).toEqual({ matchLabels: { [LABEL.locked]: 'true' } });
    for (const name of [WEBHOOK.locked, WEBHOOK.keys]) expect(webhook(name).objectSelector).toBeUndefined();
    expect(webhook(WEBHOOK.keys).namespaceSelector).toBeUndefined();
  });

  test.each([
    [WEBHOOK.locked, 'not-our-quota-update'],
    [WEBHOOK.keys, 'not-ours'],
  ])('%s: knows exactly our users', (name, condition) => {
    const users = quotedIn(condition, name).filter((text) => text.startsWith('system:'));
    expect(users.sort()).toEqual([...OUR_USERS].sort());
  });

  test.each([
    ['locked', (): string[] => quotedIn('tenant-namespace', WEBHOOK.locked)],
    ['the policy on VMMRQs', (): string[] => quotedInPolicy('mtq-reserved-namespaces')],
  ])('%s: knows the namespaces that are reserved', (_what, textsOf) => {
    const kubevirt = readGuardSettings(guardEnvironment()).KUBEVIRT_NAMESPACE;
    const texts = textsOf();
    const names = texts.map((text) => (text.endsWith('-') ? `${text}any` : text));
    expect(names).toEqual([
      'default',
      SYSTEM_NAMESPACE,
      kubevirt,
      'kube-any',
      'openshift-any',
      'knative-any',
    ]);
    expect(names.filter((name) => !isReserved(name, kubevirt))).toEqual([]);
  });

  test('keys: knows what we keep on a namespace', () => {
    expect(quotedIn('our-keys-change', WEBHOOK.keys)).toEqual([
      ...['annotations', ANNOTATION.lock],
      ...['annotations', ANNOTATION.lastAttempt],
      ...['labels', LABEL.locked],
    ]);
  });
});

describe('the guard', () => {
  test('listens where the API server and the Broker look for it', () => {
    const service = ofKind('Service').find(
      ({ apiVersion, metadata }) => apiVersion === 'v1' && metadata.name === 'mtq-guard',
    );
    const { selector, ports } = service?.spec as {
      selector: Record<string, string>;
      ports: { port: number; targetPort: string }[];
    };
    const { PORT, TLS_PORT } = readGuardSettings(guardEnvironment());
    const named = new Map(guardContainer().ports.map(({ name, containerPort }) => [name, containerPort]));
    expect(ports.map(({ port, targetPort }) => [port, named.get(targetPort)])).toEqual([
      [443, TLS_PORT],
      [8080, PORT],
    ]);
    expect(guardPod().metadata.labels).toMatchObject(selector);
  });

  test('runs as its own service account, within the restricted Pod Security Standard', () => {
    expect(guardPod().spec).toMatchObject({
      serviceAccountName: SERVICE_ACCOUNT.guard,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    const readable = ['dist', '/var/run/secrets/kubernetes.io/serviceaccount'].map(
      (path) => `--allow-fs-read=${path}`,
    );
    const small = ['--max-semi-space-size=1', '--no-opt', '--no-maglev'];
    expect(guardContainer()).toMatchObject({
      command: ['node', '--permission', ...readable, ...small, 'dist/guard.mjs'],
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
    });
  });

  test('is never fewer than one, whoever drains, evicts or updates', () => {
    const deployment = found(ofKind('Deployment')[0], 'Deployment');
    expect(deployment.spec).toMatchObject({
      replicas: 2,
      strategy: { rollingUpdate: { maxUnavailable: 0 } },
    });
    const labels = guardPod().metadata.labels;
    expect(ofKind('PodDisruptionBudget').map(({ spec }) => spec)).toEqual([
      { minAvailable: 1, selector: { matchLabels: { 'app.kubernetes.io/name': 'mtq-guard' } } },
    ]);
    expect(labels).toMatchObject({ 'app.kubernetes.io/name': 'mtq-guard' });
  });

  test('spreads where it can, and runs on one node all the same', () => {
    const { affinity, topologySpreadConstraints, ...spec } = guardPod().spec;
    expect(Object.keys(affinity.podAntiAffinity)).toEqual([
      'preferredDuringSchedulingIgnoredDuringExecution',
    ]);
    expect(topologySpreadConstraints.map(({ whenUnsatisfiable }) => whenUnsatisfiable)).toEqual([
      'ScheduleAnyway',
    ]);
    expect(Object.keys(affinity)).toEqual(['podAntiAffinity']);
    expect(spec).not.toHaveProperty('nodeSelector');
  });

  test('is critical, and our namespace may have pods that are', () => {
    const { priorityClassName } = guardPod().spec;
    const [quota] = ofKind('ResourceQuota');
    expect(quota?.spec).toEqual({
      hard: { pods: expect.any(String) },
      scopeSelector: {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: [priorityClassName] }],
      },
    });
  });

  test('has the time that it needs to leave', () => {
    const { SHUTDOWN_DELAY_MS } = readGuardSettings(guardEnvironment());
    const { terminationGracePeriodSeconds } = guardPod().spec;
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(SHUTDOWN_DELAY_MS + 10_000);
  });

  test('knows the same KubeVirt as the functions', () => {
    const { KUBEVIRT_NAMESPACE } = readGuardSettings(guardEnvironment());
    for (const step of STEP_NAMES) {
      expect(readSettings(environmentOf(step)).KUBEVIRT_NAMESPACE).toBe(KUBEVIRT_NAMESPACE);
    }
  });
});

test('the CRD is what the code reads and writes, and tells of every condition', () => {
  const [crd] = ofKind('CustomResourceDefinition');
  expect(crd?.metadata.name).toBe(`${VMMRQS.plural}.${GROUP}`);
  expect(crd?.spec).toMatchObject({
    group: GROUP,
    names: { kind: VMMRQS.kind, plural: VMMRQS.plural },
    versions: [{ name: VMMRQS.apiVersion.split('/')[1] }],
  });
  expect(JSON.stringify(crd)).toContain(`"description":"${Object.values(CONDITION).join(', ')}."`);
});

const ofKind = (wanted: string): Manifest[] => objects.filter(({ kind }) => kind === wanted);
const nameOf = ({ kind = '', metadata }: Manifest): string => `${kind} ${metadata.name}`;
const bindings = (): Manifest[] => [...ofKind('ClusterRoleBinding'), ...ofKind('RoleBinding')];

function found<T>(object: T | undefined, what: string): T {
  if (object === undefined) throw new Error(`config/base has no ${what}`);
  return object;
}

const serviceOf = (step: string): KnativeService =>
  found(
    knative.services.find(({ metadata }) => metadata.name === step),
    `Service ${step}`,
  );

const triggerOf = (step: string): Trigger =>
  found(
    knative.triggers.find(({ metadata }) => metadata.name === `mtq-${step}`),
    `Trigger mtq-${step}`,
  );

const environmentOf = (step: string): Record<string, string> =>
  Object.fromEntries(
    (serviceOf(step).spec.template.spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [
      name,
      value,
    ]),
  );

const readiness = (step: string): string =>
  found(serviceOf(step).spec.template.spec.containers[0]?.readinessProbe?.httpGet?.path, 'readiness probe');

interface GuardPod {
  metadata: { labels: object };
  spec: {
    containers: [GuardContainer];
    affinity: { podAntiAffinity: object };
    topologySpreadConstraints: { whenUnsatisfiable: string }[];
    priorityClassName: string;
    terminationGracePeriodSeconds: number;
  };
}

const guardPod = (): GuardPod =>
  (found(ofKind('Deployment')[0], 'Deployment').spec as { template: ReturnType<typeof guardPod> }).template;
const guardContainer = (): GuardContainer => guardPod().spec.containers[0];
const guardEnvironment = (): Record<string, string> =>
  Object.fromEntries(guardContainer().env.map(({ name, value }) => [name, value]));

const webhooks = (): Webhook[] =>
  ofKind('ValidatingWebhookConfiguration').flatMap((object) => object.webhooks ?? []);
const webhook = (wanted: string): Webhook =>
  found(
    webhooks().find(({ name }) => name === wanted),
    `webhook ${wanted}`,
  );

/** The texts in quotes in one of a webhook's CEL expressions, in their order. */
function quotedIn(condition: string, name: string): string[] {
  const { matchConditions } = webhook(name);
  const { expression } = found(
    matchConditions.find((one) => one.name === condition),
    `condition ${condition}`,
  );
  return [...expression.matchAll(/'([^']*)'/g)].map(([, text = '']) => text);
}

/** The texts in quotes in a policy's only CEL expression, in their order. */
function quotedInPolicy(wanted: string): string[] {
  const policy = ofKind('ValidatingAdmissionPolicy').find(({ metadata }) => metadata.name === wanted);
  const { validations } = found(policy, `policy ${wanted}`).spec as { validations: { expression: string }[] };
  return validations.flatMap(({ expression }) =>
    [...expression.matchAll(/'([^']*)'/g)].map(([, text = '']) => text),
  );
}

/** "update resourcequotas", "list pods": all that this process may do, by every role it is bound to. */
function grantedTo(process: keyof typeof SERVICE_ACCOUNT): string[] {
  const bound = bindings().filter(({ subjects = [] }) =>
    subjects.some(({ name }) => name === SERVICE_ACCOUNT[process]),
  );
  const roles = bound.map(({ roleRef }) => `${roleRef?.kind ?? ''} ${roleRef?.name ?? ''}`);
  const rules = objects.filter((role) => roles.includes(nameOf(role))).flatMap((role) => role.rules ?? []);
  return [...new Set(rules.flatMap(rightsOf))];
}

const rightsOf = ({ apiGroups, resources, resourceNames, verbs }: PolicyRule): string[] =>
  verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.map(
        (resource) =>
          `${verb} ${resource}${group === '' ? '' : `.${group}`}` +
          (resourceNames === undefined ? '' : ` (${resourceNames.join(', ')})`),
      ),
    ),
  );

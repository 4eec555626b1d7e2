import { beforeAll, describe, expect, test } from '@jest/globals';
import { TOKEN_TEXT } from '../../functions/domain/token.ts';
import { parseAllDocuments } from 'yaml';
import {
  ANNOTATION,
  KUBEVIRT,
  LABEL,
  OTHER_LOCK_MESSAGE,
  OUR_KEYS,
  OUR_USERS,
  POLICY,
  PROOF_MESSAGE,
  SERVICE_ACCOUNT,
  userOf,
  WEBHOOK,
  POD_IDENTITY_LABELS,
} from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { readGuardSettings } from '../../functions/runtime/settings.ts';
import { renderAdmission } from '../../hack/manifests/admission/render.ts';
import { renderAdmissionMode, ADMISSION_MODES, type AdmissionMode } from '../cluster/admission-modes.ts';
import { grantsOf } from '../support/environment/granted.ts';

interface Rule {
  readonly resources: readonly string[];
  readonly operations: readonly string[];
}

interface Policy extends KubernetesObject {
  readonly spec: {
    readonly failurePolicy: string;
    readonly paramKind?: object;
    readonly matchConstraints: {
      readonly matchPolicy: string;
      readonly namespaceSelector?: object;
      readonly objectSelector?: object;
      readonly resourceRules: readonly Rule[];
    };
    readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly reason?: string;
      readonly message?: string;
      readonly messageExpression?: string;
    }[];
  };
}

interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [
          { readonly env: readonly { name: string; value: string }[]; readonly ports: readonly object[] },
        ];
      };
    };
  };
}

const OURS = Object.values<string>(POLICY);
const rendered = {} as Record<AdmissionMode, KubernetesObject[]>;

beforeAll(async () => {
  for (const admissionMode of ADMISSION_MODES)
    rendered[admissionMode] = await renderAdmissionMode(admissionMode);
});

const ofKind = (admissionMode: AdmissionMode, wanted: string): KubernetesObject[] =>
  rendered[admissionMode].filter(({ kind }) => kind === wanted);

const namesOf = (admissionMode: AdmissionMode, kind: string): string[] =>
  ofKind(admissionMode, kind)
    .map(({ metadata }) => metadata.name)
    .filter((name) => OURS.includes(name))
    .sort();

function policy(name: string): Policy {
  const found = ofKind('policy', 'ValidatingAdmissionPolicy').find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`there is no policy ${name}`);
  return found as Policy;
}

const allOf = (name: string): string => JSON.stringify(policy(name).spec);

/** The texts in quotes in one expression, in their order. */
const quotedIn = (expression = ''): string[] =>
  [...expression.matchAll(/'([^']*)'/g)].map(([, text = '']) => text);

const condition = (name: string, of: string): string[] =>
  quotedIn(policy(name).spec.matchConditions?.find((one) => one.name === of)?.expression);

const variableOf = (admissionMode: AdmissionMode, name: string, of: string): string | undefined =>
  (
    ofKind(admissionMode, 'ValidatingAdmissionPolicy').find(({ metadata }) => metadata.name === name) as
      Policy | undefined
  )?.spec.variables?.find((one) => one.name === of)?.expression;

const variable = (name: string, of: string): string[] => quotedIn(variableOf('policy', name, of));

describe('admission modes', () => {
  test.each<[AdmissionMode, readonly string[]]>([
    ['both', [WEBHOOK.configuration]],
    ['policy', []],
  ])('%s: its policies and its webhooks', (admissionMode, webhooks) => {
    const policies = [...OURS].sort();
    expect(namesOf(admissionMode, 'ValidatingAdmissionPolicy')).toEqual(policies);
    expect(namesOf(admissionMode, 'ValidatingAdmissionPolicyBinding')).toEqual(policies);
    expect(
      ofKind(admissionMode, 'ValidatingWebhookConfiguration').map(({ metadata }) => metadata.name),
    ).toEqual(webhooks);
  });

  test.each(ADMISSION_MODES)(
    '%s: the guard’s setting says whether webhooks are installed',
    (admissionMode) => {
      const { env, ports } = guardOf(admissionMode);
      const settings = readGuardSettings(Object.fromEntries(env.map(({ name, value }) => [name, value])));
      const isAsked = admissionMode !== 'policy';
      expect(settings.ADMISSION).toBe(isAsked ? 'webhook' : 'policy');
      expect(ports).toHaveLength(isAsked ? 2 : 1);
      expect(JSON.stringify(rendered[admissionMode]).includes('mtq-guard-certs')).toBe(isAsked);
    },
  );

  test.each(ADMISSION_MODES)(
    '%s: the policy answers the proof only where the guard does not',
    (admissionMode) => {
      const answers = variableOf(admissionMode, POLICY.locked, 'answersProof');
      expect(answers).toBe(admissionMode === 'policy' ? 'true' : 'false');
    },
  );

  test.each(ADMISSION_MODES)(
    '%s: the guard writes webhooks and reads Secrets only where it is asked',
    (admissionMode) => {
      const rights = grantsOf(rendered[admissionMode], SERVICE_ACCOUNT.guard).flatMap(({ rule }) =>
        rule.verbs.flatMap((verb) => (rule.resources ?? []).map((resource) => `${verb} ${resource}`)),
      );
      // (It lists and watches webhook configurations to find the incumbent's.)
      const forReviews = rights.filter((right) => /^(get|update) .*webhook|secret/.test(right));
      expect(forReviews.length > 0).toBe(admissionMode !== 'policy');
      expect(rights).toContain('update resourcequotas/status');
    },
  );
});

const guardOf = (admissionMode: AdmissionMode): Deployment['spec']['template']['spec']['containers'][0] =>
  (ofKind(admissionMode, 'Deployment')[0] as Deployment).spec.template.spec.containers[0];

describe.each(OURS)('%s', (name) => {
  test('fails closed (or lets us repair), and answers Forbidden, with a fallback message', () => {
    const { failurePolicy, matchConstraints, validations } = policy(name).spec;
    // A request that it cannot evaluate may be our own repair.
    expect(failurePolicy).toBe(name === POLICY.ownWrites ? 'Ignore' : 'Fail');
    expect(matchConstraints).toMatchObject({ matchPolicy: 'Equivalent' });
    expect(matchConstraints.objectSelector).toBeUndefined();
    for (const { reason, message, messageExpression } of validations) {
      expect(reason).toBe('Forbidden');
      expect([message, messageExpression].every((text) => text !== undefined && text !== '')).toBe(true);
    }
  });

  test('is bound once, under its own name, and denies', () => {
    const bindings = ofKind('policy', 'ValidatingAdmissionPolicyBinding') as (KubernetesObject & {
      spec: { policyName: string; validationActions: string[]; matchResources?: object };
    })[];
    const mine = bindings.filter(({ spec }) => spec.policyName === name);
    expect(mine.map(({ metadata }) => metadata.name)).toEqual([name]);
    expect(mine[0]?.spec.validationActions).toEqual(['Deny']);
    expect(mine[0]?.spec.matchResources).toBeUndefined();
  });
});

describe('the matched requests', () => {
  const PODS = [
    { resources: ['pods'], operations: ['CREATE', 'UPDATE'] },
    { resources: ['pods/resize'], operations: ['UPDATE'] },
  ];
  const CLAIMS = {
    apiGroups: ['resource.k8s.io'],
    apiVersions: ['*'],
    resources: ['resourceclaims'],
    operations: ['CREATE', 'UPDATE'],
  };
  /** Never the deletion of quotas: an admin may end a raise by it. */
  const QUOTAS = [
    { resources: ['resourcequotas'], operations: ['CREATE', 'UPDATE'] },
    { resources: ['resourcequotas/status'], operations: ['UPDATE'] },
  ];

  test.each<[string, Rule[]]>([
    [POLICY.raisedPods, [...PODS, CLAIMS]],
    [POLICY.raisedQuotas, QUOTAS],
    [
      POLICY.lockKeys,
      [
        {
          resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
    ],
    [POLICY.locked, [...PODS, ...QUOTAS, CLAIMS]],
    [
      POLICY.ownWrites,
      [
        { resources: ['namespaces'], operations: ['UPDATE'] },
        { resources: ['resourcequotas'], operations: ['CREATE', 'UPDATE'] },
        { resources: ['resourcequotas/status'], operations: ['UPDATE'] },
        { resources: ['virtualmachineinstancemigrations'], operations: ['UPDATE'] },
      ],
    ],
  ])('%s', (name, rules) => {
    expect(policy(name).spec.matchConstraints.resourceRules).toMatchObject(rules);
    expect(policy(name).spec.matchConstraints.resourceRules).toHaveLength(rules.length);
  });

  test('the policy for raised pods gets the raised quotas of the request’s namespace as parameters', () => {
    expect(OURS.filter((name) => policy(name).spec.paramKind !== undefined)).toEqual([POLICY.raisedPods]);
    expect(policy(POLICY.raisedPods).spec.paramKind).toEqual({ apiVersion: 'v1', kind: 'ResourceQuota' });
    const binding = ofKind('policy', 'ValidatingAdmissionPolicyBinding').find(
      ({ metadata }) => metadata.name === POLICY.raisedPods,
    );
    expect((binding as unknown as { spec: object }).spec).toMatchObject({
      paramRef: { selector: { matchLabels: { [LABEL.raised]: 'true' } }, parameterNotFoundAction: 'Allow' },
    });
    expect(JSON.stringify(binding)).not.toContain('"namespace"');
  });

  test('only the policy that mirrors the webhook selects by the namespace’s label', () => {
    expect(policy(POLICY.locked).spec.matchConstraints.namespaceSelector).toEqual({
      matchLabels: { [LABEL.locked]: 'true' },
    });
    for (const name of OURS.filter((each) => each !== POLICY.locked)) {
      expect(JSON.stringify(policy(name).spec.matchConstraints)).not.toContain(LABEL.locked);
    }
  });
});

const webhooks = (): (Policy['spec'] & { name: string; rules: Rule[] })[] =>
  (ofKind('both', 'ValidatingWebhookConfiguration') as (KubernetesObject & { webhooks: never[] })[]).flatMap(
    (configuration) => configuration.webhooks,
  );

/** Both policies and the webhook must agree on which updates are harmless. */
test('the webhook and both policies skip the same harmless updates', () => {
  const locked = webhooks().find(({ name }) => name === WEBHOOK.locked);
  const evaluated = ({ matchConditions }: Policy['spec']): string | undefined =>
    matchConditions?.find(({ name }) => name === 'not-a-harmless-update')?.expression;
  for (const word of ['activeDeadlineSeconds', ...POD_IDENTITY_LABELS]) {
    expect(locked && evaluated(locked)).toContain(`'${word}'`);
  }
  for (const name of [POLICY.raisedPods, POLICY.locked]) {
    expect(evaluated(policy(name).spec)).toBe(locked && evaluated(locked));
  }
});

test.each([
  [POLICY.locked, WEBHOOK.locked],
  [POLICY.lockKeys, WEBHOOK.keys],
])('the policy %s matches the same requests as the webhook %s', (name, of) => {
  const webhook = webhooks().find((one) => one.name === of);
  const { matchConstraints, matchConditions } = policy(name).spec;
  expect(matchConstraints.resourceRules).toEqual(webhook?.rules);
  expect(matchConditions).toEqual(webhook?.matchConditions);
});

test('no expression parses JSON, because CEL reads flat annotations', () => {
  for (const name of OURS) {
    // The one pattern says what a token may be, of a flat annotation.
    const text = allOf(name).replaceAll(`.matches('${TOKEN_TEXT}')`, '');
    for (const reading of ['.find(', '.findAll(', '.matches(']) expect(text).not.toContain(reading);
  }
});

describe('our names in the policies', () => {
  test.each<[string, () => string[]]>([
    [POLICY.raisedQuotas, (): string[] => condition(POLICY.raisedQuotas, 'not-our-update').slice(1)],
    [POLICY.lockKeys, (): string[] => condition(POLICY.lockKeys, 'not-ours')],
    [POLICY.locked, (): string[] => condition(POLICY.locked, 'not-our-quota-update').slice(2)],
    [POLICY.ownWrites, (): string[] => condition(POLICY.ownWrites, 'ours')],
  ])('%s: our users', (_name, users) => {
    expect(users().sort()).toEqual([...OUR_USERS].sort());
  });

  test('are all our keys on a namespace, and on a quota', () => {
    const keysIn = (texts: readonly string[]): string[] => texts.filter((text) => text.startsWith('mtq.'));
    const { namespace, quota } = OUR_KEYS;
    const onNamespace: string[] = [...namespace.annotations, ...namespace.labels];
    const onQuota: string[] = [...quota.annotations, ...quota.labels];
    expect(new Set(keysIn(variable(POLICY.lockKeys, 'changed')))).toEqual(
      new Set([...onNamespace, ANNOTATION.breakGlass]),
    );
    expect(keysIn(condition(POLICY.raisedQuotas, 'our-keys-change'))).toEqual(onQuota);
    expect(new Set(keysIn(variable(POLICY.raisedQuotas, 'forged')))).toEqual(new Set(onQuota));
    expect(keysIn(variable(POLICY.raisedQuotas, 'removed'))).toEqual(onQuota);
    const { skip, proof, verdict, ...written } = ANNOTATION;
    const all = [...Object.values(written), ...Object.values(LABEL)];
    expect(new Set(keysIn(variable(POLICY.ownWrites, 'ours')))).toEqual(new Set(all));
    for (const key of [skip, proof, verdict]) expect(allOf(POLICY.ownWrites)).not.toContain(key);
    expect(variable(POLICY.raisedPods, 'migrations')).toContain(ANNOTATION.migrations);
    for (const name of [POLICY.raisedPods, POLICY.locked]) {
      expect(variable(name, 'migration')).toContain(KUBEVIRT.migrationJobUID);
      for (const key of [KUBEVIRT.createdBy, KUBEVIRT.launcherLabel, KUBEVIRT.attachment]) {
        expect(allOf(name)).toContain(`'${key}'`);
      }
      expect(variable(name, 'migrations')).toContain(ANNOTATION.migrations);
    }
    expect(variable(POLICY.locked, 'token')).toContain(ANNOTATION.token);
    expect(variable(POLICY.locked, 'isThisLock')).toContain(ANNOTATION.proof);
  });

  test('include KubeVirt’s names as in the guard, each once in its manifest', () => {
    const env = Object.fromEntries(guardOf('policy').env.map(({ name, value }) => [name, value]));
    const { KUBEVIRT_NAMESPACE, KUBEVIRT_CONTROLLER } = readGuardSettings(env);
    const controller = userOf(KUBEVIRT_CONTROLLER, KUBEVIRT_NAMESPACE);
    for (const name of [POLICY.raisedPods, POLICY.locked]) {
      expect(variable(name, 'controller')).toEqual([controller]);
      expect(allOf(name).match(new RegExp(KUBEVIRT_CONTROLLER, 'g'))).toHaveLength(1);
    }
  });

  test('include the words of the proof, and of a refusal that is no proof', () => {
    expect(policy(POLICY.locked).spec.validations[0]?.messageExpression).toBe(
      `variables.isThisLock ? '${PROOF_MESSAGE}' + variables.token : '${OTHER_LOCK_MESSAGE}'`,
    );
    expect(OTHER_LOCK_MESSAGE).not.toContain(PROOF_MESSAGE.trim());
  });
});

describe('the message of a policy', () => {
  /** Names and words that the API server has checked, lists of keys, and the lock's token, which only our accounts write. */
  const MAY_INSERT = [
    ...['namespace', 'name', 'operation', 'resource.resource', 'kind.kind'].map(
      (field) => `request.${field}`,
    ),
    ...['object', 'params'].map((of) => `${of}.metadata.name`),
    ...['changed', 'forged', 'removed', 'foreign', 'wrongAmounts'].map(
      (keys) => `variables.${keys}.join('')`,
    ),
    ...['isLocked', 'isRaised', 'isThisLock', 'restStays', 'token'].map((name) => `variables.${name}`),
  ];
  const messages = [...renderAdmission().values()]
    .flatMap((file) => parseAllDocuments(file).map((one) => one.toJS() as Policy))
    .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
    .flatMap(({ metadata, spec }) =>
      spec.validations.map(({ messageExpression = '' }, index) => ({
        name: `${metadata.name} ${String(index)}`,
        messageExpression,
      })),
    );

  test.each(messages)('$name: inserts no text of a user', ({ messageExpression }) => {
    const code = messageExpression.replaceAll(/'(?:[^'\\]|\\.)*'/g, "''");
    const inserted = code.match(/[a-z](?:[\w.]|\[[^\]]*\]|\([^)]*\))*/gi) ?? [];
    expect(inserted.filter((value) => !MAY_INSERT.includes(value))).toEqual([]);
  });
});

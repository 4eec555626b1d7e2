import { QUOTA_RULES } from './quotas.ts';
import { ANNOTATION, DRY_RUN_GRANT, LABEL, OUR_KEYS, POLICY } from '../../../functions/domain/names.ts';
import { MIGRATIONS as MIGRATION_TYPE } from '../../../functions/kubernetes/resources.ts';
import { OWN_REFUSAL } from '../../../webhook/admission/messages.ts';
import { annotation, hole, label, list, namespaceLabel, REQUEST_HOLES, text, withHoles } from './cel.ts';
import type { Policy, Validation, Variable } from './manifest.ts';
import { IS_OURS, IS_RAISE } from './users.ts';

/** The metadata keys that our accounts write, by kind. */
const KEYS = {
  namespaces: {
    ...OUR_KEYS.namespace,
    annotations: [...OUR_KEYS.namespace.annotations, ANNOTATION.breakGlass],
  },
  resourcequotas: OUR_KEYS.quota,
  [MIGRATION_TYPE.plural]: { annotations: [ANNOTATION.nudged], labels: [] },
};

/** The keys in the two maps of metadata, by the request's resource. */
const OURS = `{${Object.entries(KEYS)
  .map(([plural, { annotations, labels }]) => `${text(plural)}: [${list(annotations)}, ${list(labels)}]`)
  .join(', ')}}[request.resource.resource]`;

/**
 * The keys of a stored map that a loop may visit; the new map may have twice as many. CEL's cost tracker searches a
 * stack that grows with each turn of a loop (cel-go v0.26, runtimecost.go, refValStack.drop), so a loop costs the
 * square of its range, and a tenant may store tens of thousands of keys. Of a larger map the policy compares the number
 * of keys and those of a fixed list: nothing that a tenant stores may keep a repair from being written.
 */
const MAX_KEYS = 128;
const isLarge = (now: string, before: string): string =>
  `${before}.size() > ${MAX_KEYS} || ${now}.size() > ${2 * MAX_KEYS}`;

/** The foreign keys that are compared in a large map of metadata: they decide which pods a namespace admits. */
const GUARDED_KEYS = ['enforce', 'audit', 'warn'].flatMap((mode) =>
  ['', '-version'].map((suffix) => `pod-security.kubernetes.io/${mode}${suffix}`),
);

/**
 * The amounts that are compared in a large map: those that Kubernetes itself names (kubernetes 1.36
 * pkg/apis/core/helper, standardQuotaResources), and count/pods.
 */
const GUARDED_AMOUNTS = [
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap((key) => [key, `requests.${key}`, `limits.${key}`]),
  ...['pods', 'count/pods', 'requests.storage', 'persistentvolumeclaims', 'resourcequotas'],
  ...['services', 'services.loadbalancers', 'services.nodeports', 'replicationcontrollers'],
  ...['secrets', 'configmaps'],
];

/** The keys of both maps, or those of the list where one of the maps is large. */
const keysOf = (now: string, before: string, guarded: readonly string[]): string =>
  `(${isLarge(now, before)} ? ${list(guarded)}
    : ${now}.map(key, key) + ${before}.map(key, key).filter(key, !(key in ${now})))`;

/** The names of other changed keys, in the map of metadata at this index in OURS. */
const foreignIn = (map: 'annotations' | 'labels', place: 0 | 1): string => {
  const [now, before, ours] = [`variables.${map}`, `variables.old${map}`, `variables.ours[${place}]`];
  const isForeign = `!(key in ${ours}) && ${now}[?key] != ${before}[?key]`;
  const hasOthers = `(${isLarge(now, before)}) && (${now}.size() - ${before}.size() > ${ours}.size()
    || ${before}.size() - ${now}.size() > ${ours}.size())`;
  return `(${hasOthers} ? [${text(`other ${map}`)}] : ${keysOf(now, before, GUARDED_KEYS)}.filter(key, ${isForeign}))`;
};

/** Whether a grant is recorded: without one, no amount may be above the spec unless it was so before. */
const isRecorded = (of: string): string =>
  `${label(of, LABEL.raised)}.hasValue() && ${annotation(of, ANNOTATION.grant)}.hasValue()`;

const same = (one: string, other: string): string => `quantity(${one}).compareTo(quantity(${other})) == 0`;
/** Whether `key` of status.hard equals its value in this map. */
const says = (map: string): string =>
  `key in variables.${map} && ${same('variables.hard[key]', `variables.${map}[key]`)}`;

const VARIABLES: readonly Variable[] = [
  {
    name: 'isQuota',
    expression: "request.resource.resource == 'resourcequotas' && request.?subResource.orValue('') == ''",
  },
  {
    name: 'isStatus',
    expression:
      "request.resource.resource == 'resourcequotas' && request.?subResource.orValue('') == 'status'",
  },
  { name: 'ours', expression: OURS },
  ...(['annotations', 'labels'] as const).flatMap((map) => [
    { name: map, expression: `object.metadata[?${text(map)}].orValue({})` },
    {
      name: `old${map}`,
      expression: `oldObject == null ? {} : oldObject.metadata[?${text(map)}].orValue({})`,
    },
  ]),
  {
    name: 'foreign',
    expression: `oldObject == null ? [] : ${foreignIn('annotations', 0)} + ${foreignIn('labels', 1)}`,
  },
  {
    name: 'restStays',
    expression: `oldObject == null || (object.metadata[?'finalizers'] == oldObject.metadata[?'finalizers']
      && object.metadata[?'ownerReferences'] == oldObject.metadata[?'ownerReferences'])`,
  },
  { name: 'hard', expression: "variables.isStatus ? object[?'status'][?'hard'].orValue({}) : {}" },
  { name: 'oldHard', expression: "variables.isStatus ? oldObject[?'status'][?'hard'].orValue({}) : {}" },
  { name: 'specHard', expression: "variables.isStatus ? object[?'spec'][?'hard'].orValue({}) : {}" },
  { name: 'amounts', expression: keysOf('variables.hard', 'variables.oldHard', GUARDED_AMOUNTS) },
  {
    name: 'mayRaise',
    // Before the lock a dry run, which says so, shows whether another party refuses the raise.
    expression: `${IS_RAISE} && ${isRecorded('object')} && (${namespaceLabel(LABEL.locked)}.hasValue()
      || (request.?dryRun.orValue(false) && ${annotation('object', ANNOTATION.grant)} == optional.of(${text(DRY_RUN_GRANT)})))`,
  },
  {
    name: 'wrongAmounts',
    // A new key has no `used` yet, so the write may leave it to the quota controller.
    expression: `variables.hard == variables.specHard || variables.hard == variables.oldHard ? []
      : (${isLarge('variables.hard', 'variables.oldHard')}) && variables.hard.size() > variables.oldHard.size() ? ['more keys']
      : variables.amounts.filter(key,
      key in variables.hard ? !(${says('oldHard')}) && !(${says('specHard')}) && !(variables.mayRaise
      && key in variables.specHard && key in variables.oldHard
      && quantity(variables.hard[key]).isGreaterThan(quantity(variables.specHard[key])))
      : key in variables.specHard && key in variables.oldHard)`,
  },
  {
    name: 'losesRecord',
    expression: `variables.isStatus && !(${isRecorded('object')})
      && (${label('oldObject', LABEL.raised)}.hasValue() || ${annotation('oldObject', ANNOTATION.grant)}.hasValue())
      && variables.hard != variables.specHard
      && variables.amounts.exists(key, key in variables.hard && !(${says('specHard')}))`,
  },
];

const VALIDATIONS: readonly Validation[] = [
  {
    expression: 'variables.foreign.size() == 0 && variables.restStays',
    message: 'managed-tenant-quota may write nothing but its own keys of metadata',
    messageExpression: withHoles(
      OWN_REFUSAL.metadata({
        keys: hole("(variables.restStays ? variables.foreign.join(', ') : 'finalizers or ownerReferences')"),
      }),
    ),
  },
  {
    expression: "oldObject == null || object[?'spec'] == oldObject[?'spec']",
    message: 'managed-tenant-quota may not change a spec',
    messageExpression: withHoles(OWN_REFUSAL.spec({ kind: hole('request.kind.kind') })),
  },
  {
    expression: `!variables.isQuota
      || (request.operation == 'CREATE' && request.?dryRun.orValue(false) && ${IS_RAISE})`,
    message: 'managed-tenant-quota may not write quotas',
    messageExpression: withHoles(OWN_REFUSAL.quota(REQUEST_HOLES)),
  },
  {
    expression: "!variables.isStatus || object[?'status'][?'used'] == oldObject[?'status'][?'used']",
    message: 'managed-tenant-quota may not change status.used',
    messageExpression: withHoles(OWN_REFUSAL.used({ quota: hole('object.metadata.name') })),
  },
  {
    expression: 'variables.wrongAmounts.size() == 0',
    message: 'managed-tenant-quota may not set these amounts',
    messageExpression: withHoles(OWN_REFUSAL.amounts({ keys: hole("variables.wrongAmounts.join(', ')") })),
  },
  {
    expression: '!variables.losesRecord',
    message: 'managed-tenant-quota may not leave a quota raised without label and grant',
    messageExpression: withHoles(OWN_REFUSAL.record({ quota: hole('object.metadata.name') })),
  },
];

/**
 * Limits our own accounts to the writes of the steps, which RBAC cannot express. On a namespace, a migration and a quota's status they
 * may change only our keys. They may set status.hard between spec.hard and its previous value; only `raise` may set it above. They may
 * not change a quota's spec, and may create a quota only as a dry run. So a stolen token of our accounts cannot relabel namespaces or
 * remove a limit. The policy does not check the content of a grant: an unexpected record must not prevent its own repair.
 */
export const ownWrites: Policy = {
  name: POLICY.ownWrites,
  // This policy alone ignores its own failures, because a request that it cannot evaluate may be the repair.
  failurePolicy: 'Ignore',
  rules: [
    {
      apiGroups: [''],
      apiVersions: ['v1'],
      resources: ['namespaces'],
      operations: ['UPDATE'],
      scope: 'Cluster',
    },
    ...QUOTA_RULES,
    {
      apiGroups: ['kubevirt.io'],
      apiVersions: ['*'],
      resources: [MIGRATION_TYPE.plural],
      operations: ['UPDATE'],
      scope: 'Namespaced',
    },
  ],
  matchConditions: [{ name: 'ours', expression: IS_OURS }],
  variables: VARIABLES,
  validations: VALIDATIONS,
};

import type { Invariant } from '../checker/invariant.ts';

/** A defect that the simulation must catch: `find` occurs exactly once in the file. */
export interface Mutation {
  readonly name: string;
  /** One of these invariants catches it; the seed decides which one comes first. */
  readonly breaks: readonly Invariant[];
  /** One edit or, where the code has two defences, all of them. */
  readonly edits: readonly Edit[];
}

export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a VMMRQ gives to every purpose',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/policy.ts',
        find: 'const isForPurpose = purposes === undefined || (purpose !== undefined && purposes.includes(purpose));',
        replace: 'const isForPurpose = purposes === undefined || purpose !== undefined;',
      },
    ],
  },
  {
    name: 'raise does not ask again whom the VMMRQs give to',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/raise/decide.ts',
        find: '  givingToAll(inForce(vmmrqs, lock.labels), lock.migrations);',
        replace: '  inForce(vmmrqs, lock.labels);',
      },
    ],
  },
  {
    name: 'migrations that different VMMRQs give to share a lock',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/verdict/raise-verdict.ts',
        find: 'if (raising.some((before) => !isSameSet(before.givers, givers))) {',
        replace: 'if (raising.length > 99 && !isSameSet([], givers)) {',
      },
      {
        file: 'functions/raise/decide.ts',
        find: '  givingToAll(inForce(vmmrqs, lock.labels), lock.migrations);',
        replace: '  givingToAll(inForce(vmmrqs, lock.labels), lock.migrations.slice(0, 1));',
      },
    ],
  },
  {
    name: 'an evicted launcher counts as an evacuation, though its node is not drained',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: "return launchers.length > 0 && isLeaving ? 'Evacuation' : 'UserRequested';",
        replace: "return launchers.length > 0 || isLeaving ? 'Evacuation' : 'UserRequested';",
      },
    ],
  },
  {
    name: 'an update of a VM counts as an upgrade, also where its launcher is current',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: 'input.vmi.metadata.labels?.[KUBEVIRT.outdatedLauncher] !== undefined;',
        replace: "input.vmi.metadata.name !== '';",
      },
    ],
  },
  {
    name: 'a change of a VM with an outdated launcher counts as an upgrade',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: 'return isOutdated && !hasPendingChange(input.vmi) ?',
        replace: 'return isOutdated || (isOutdated && hasPendingChange(input.vmi)) ?',
      },
    ],
  },
  {
    name: 'an eviction by the descheduler counts as a drain',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: "if (migration.spec.priority === 'system-maintenance') return 'Rebalance';",
        replace: "if (migration.spec.priority === 'none') return 'Rebalance';",
      },
    ],
  },
  {
    name: 'a priority that the tenant writes counts as a mark',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: "if (annotations?.[KUBEVIRT.workloadUpdate] === undefined) return 'UserRequested';",
        replace: "if (input.migration.spec.priority === undefined) return 'UserRequested';",
      },
    ],
  },
  {
    name: 'the policy on marks forgets evacuations',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: 'migration: [KUBEVIRT.evacuation, KUBEVIRT.workloadUpdate],',
        replace: 'migration: [KUBEVIRT.workloadUpdate],',
      },
    ],
  },
  {
    name: 'the policy on marks forgets updates',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: 'migration: [KUBEVIRT.evacuation, KUBEVIRT.workloadUpdate],',
        replace: 'migration: [KUBEVIRT.evacuation],',
      },
    ],
  },
  {
    name: 'the policy on marks forgets the VMI',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/policy/purpose.ts',
        find: 'vmi: KUBEVIRT.outdatedLauncher,',
        replace: "vmi: 'none',",
      },
    ],
  },
  {
    name: 'the label and the grant come in a second PUT',
    breaks: ['I2', 'I1'],
    edits: [
      {
        file: 'functions/raise/write.ts',
        find: "      await writer.cluster.replace(RESOURCE_QUOTAS, next, { subresource: 'status' });\n      return next;",
        replace:
          "      const { metadata } = snapshot.quotas.find((quota) => quota.metadata.uid === first.metadata.uid) ?? next;\n      const bare = { ...next, metadata: { ...metadata, resourceVersion: next.metadata.resourceVersion } };\n      const { object } = await writer.cluster.replace(RESOURCE_QUOTAS, bare, { subresource: 'status' });\n      const { resourceVersion } = object.metadata;\n      const marked = { ...next, status: object.status ?? {}, metadata: { ...next.metadata, resourceVersion } };\n      await writer.cluster.replace(RESOURCE_QUOTAS, marked, { subresource: 'status' });\n      return next;",
      },
    ],
  },
  {
    name: 'lower drops the record before status.hard is back',
    breaks: ['I2', 'I1'],
    edits: [
      {
        file: 'functions/domain/quota/lower.ts',
        find: 'hard: originalsOf(quota, quota.status.hard) }',
        replace: 'hard: quota.status.hard }',
      },
    ],
  },
  {
    name: 'lower forgets what is used',
    breaks: ['I2', 'I1', 'I3'],
    edits: [
      {
        file: 'functions/domain/quota/lower.ts',
        find: 'status: { ...quota.status, hard: originalsOf(quota, quota.status.hard) }',
        replace: 'status: { hard: originalsOf(quota, quota.status.hard), used: {} }',
      },
    ],
  },
  {
    name: 'raise writes spec.hard too',
    breaks: ['I2', 'I4'],
    edits: [
      {
        file: 'functions/domain/quota/grant.ts',
        find: '    status: { ...status, hard },',
        replace: `    spec: { ...quota.spec, hard },
    status: { ...status, hard },`,
      },
      {
        file: 'functions/raise/write.ts',
        find: "await writer.cluster.replace(RESOURCE_QUOTAS, next, { subresource: 'status' });",
        replace: 'await writer.cluster.replace(RESOURCE_QUOTAS, next);',
      },
    ],
  },
  {
    name: 'the proof comes before the quotas are read',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: `  const [quotas, vmmrqs, apiServers] = await Promise.all([
    readEach(names.quotas`,
        replace: `  const early = await prove({ namespace, token, servers }, { addresses: [], mayHide: false }, context);
  const [quotas, vmmrqs, apiServers] = await Promise.all([
    readEach(names.quotas`,
      },
      {
        file: 'functions/raise/handle.ts',
        find: `(await provenBefore(quotas, raiseAttempt, context)) ?? (await prove(raiseAttempt, apiServers, context));`,
        replace: `early;
  void apiServers;`,
      },
    ],
  },
  {
    name: 'raise takes every undone raise as one that was proven',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: '  if (!isAgain || !quotas.some((quota) => grantBy(quota, about.token) !== undefined)) return undefined;',
        replace: '  if (!isAgain) return undefined;',
      },
    ],
  },
  {
    name: 'no fence: raise does not look at last-release',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/decide.ts',
        find: '  if (isFencedBy(quota, token))',
        replace: "  if (isFencedBy(quota, token) && token === '')",
      },
    ],
  },
  {
    name: 'no fence: lower leaves quotas that were never raised alone',
    breaks: ['I3', 'I1'],
    edits: [
      {
        file: 'functions/lower/write.ts',
        find: '    return token === undefined || isFencedBy(quota, token) ? undefined : { token, outcome };',
        replace: '    return undefined;',
      },
    ],
  },
  {
    name: 'a lost race is written all the same',
    breaks: ['I1', 'I2', 'I4'],
    edits: [
      {
        file: 'functions/raise/write.ts',
        find: '  return (await isHeld()) ? read.object : undefined;',
        replace: '  void isHeld;\n  return read.object;',
      },
      {
        file: 'functions/raise/decide.ts',
        find: '  if (isFencedBy(quota, token))',
        replace: "  if (isFencedBy(quota, token) && token === '')",
      },
    ],
  },
  {
    name: 'no proof',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/cluster/proof.ts',
        find: `  const metadata = { name: PROOF_QUOTA, namespace, annotations: { [ANNOTATION.proof]: token } };
`,
        replace:
          "  const metadata = { name: PROOF_QUOTA, namespace, annotations: { [ANNOTATION.proof]: token } };\n  if (namespace !== '') return { proven: true, lock: undefined, now: Date.now() };\n",
      },
    ],
  },
  {
    name: 'any refusal of the proof is one',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/cluster/proof.ts',
        find: '    if (isPolicyAnswer(error, `${PROOF_MESSAGE}${token}`)) return',
        replace: '    if (error.code >= 400) return',
      },
    ],
  },
  {
    name: 'the proof of another lock is one',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/cluster/proof.ts',
        find: '    if (lock?.token === token) return',
        replace: '    if (lock !== undefined) return',
      },
      {
        file: 'functions/raise/handle.ts',
        find: '  if (proof.lock !== undefined) return proof.lock;',
        replace: '  if (proof.lock !== undefined) return { ...proof.lock, token: about.token };',
      },
    ],
  },
  {
    name: 'the guard does not check the UID',
    breaks: ['I1'],
    edits: [
      {
        file: 'webhook/admission/review.ts',
        find: 'object !== null && isLockedFor(state.lock, object);',
        replace: "object?.metadata.labels?.['kubevirt.io/migrationJobUID'] !== undefined;",
      },
    ],
  },
  {
    name: 'the guard does not check who creates the pod',
    breaks: ['I1'],
    edits: [
      {
        file: 'webhook/admission/review.ts',
        find: 'isCreate && isOfLock && isKubeVirt(input)',
        replace: 'isCreate && isOfLock',
      },
    ],
  },
  {
    name: 'the guard forgets pods/resize',
    breaks: ['I1'],
    edits: [
      {
        file: 'webhook/admission/review.ts',
        find: "const isCreate = request.operation === 'CREATE' && (request.subResource ?? '') === '';",
        replace:
          "const isCreate = request.operation === 'CREATE' && (request.subResource ?? '') === '';\n  if (!isCreate) return ALLOWED;",
      },
    ],
  },
  {
    name: 'raise does not check the UID of a quota',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: '    return quota?.metadata.uid === uid ? [quota] : [];',
        replace: "    return quota === undefined || uid === '' ? [] : [quota];",
      },
    ],
  },
  {
    name: 'a raise again adds its amount once more',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/raise.ts',
        find: '    const to = smaller(before, max);',
        replace: '    const to = formatQuantity(parseQuantity(before) + allowance(quota, key).max);',
      },
    ],
  },
  {
    name: 'no back-off',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/domain/verdict/attempt.ts',
        find: `  if (last === undefined) return undefined;
  return (
    budgetBackoff`,
        replace: `  if (last === undefined || last.failures > 0) return undefined;
  return (
    budgetBackoff`,
      },
    ],
  },
  {
    name: 'every lock that a part was away from is free',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/domain/verdict/attempt.ts',
        find: '  AWAY.includes(reason) && !(last !== undefined && lockedLately(last, now).some(({ ms }) => ms === 0));',
        replace: '  AWAY.includes(reason) && (last === undefined || now > 0);',
      },
    ],
  },
  {
    name: 'a raise that KubeVirt could not try is charged',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/lower/decide.ts',
        find: '  if (!refusals.some(isOfPod) && (refusals.length > 0 || !werePresent(snapshot, since))) {',
        replace: '  if (!refusals.some(isOfPod) && now < 0) {',
      },
    ],
  },
  {
    name: 'a refusal of before the raise counts as an attempt',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/lower/decide.ts',
        find: '    .filter((rejection) => !isOfBefore(rejection, raised));',
        replace: '    .filter((rejection) => !isOfBefore(rejection, []));',
      },
    ],
  },
  {
    name: 'an expired lock is charged',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/lower/decide.ts',
        find: '  ended === undefined ? LOCK_OUTCOME.ourFault :',
        replace: '  ended === undefined ? LOCK_OUTCOME.failed :',
      },
    ],
  },
  {
    name: 'lock does not wait for the later steps',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/lock/handle.ts',
        find: '  return (await hasWaitedLong(context)) ? undefined : acquire(decision, context);',
        replace:
          '  return decision.untried.length > 99 && (await hasWaitedLong(context)) ? undefined : acquire(decision, context);',
      },
    ],
  },
  {
    name: 'the watchdog does not repair',
    breaks: ['I3'],
    edits: [
      {
        file: 'webhook/watchdog/watchdog.ts',
        find: '    this.#timers.start(`${lockKey(name)}overdue`, () => this.#onOverdue(name, token), {',
        replace: '    this.#timers.start(`${lockKey(name)}overdue`, () => Promise.resolve(), {',
      },
      {
        file: 'webhook/watchdog/watchdog.ts',
        find: '    const isEnded = isLate(lock, watchedMs) && (await this.#takeOver(seen, event));',
        replace: '    const isEnded = isLate(lock, watchedMs) && false;',
      },
    ],
  },
  {
    name: 'the watchdog does not look at quotas without a lock',
    breaks: ['I3'],
    edits: [
      {
        file: 'webhook/watchdog/watchdog.ts',
        find: '    this.#timers.start(`${key}orphan`, () => this.#onOrphan(uid, namespace), {',
        replace:
          "    if (key === '') this.#timers.start(`${key}orphan`, () => this.#onOrphan(uid, namespace), {",
      },
    ],
  },
  {
    name: 'the watchdog does not resync migrations',
    breaks: ['I3'],
    edits: [
      {
        file: 'webhook/watchdog/resync.ts',
        find: '  if (known.seen < known.nextAt) return known;',
        replace: '  if (known.seen > 0) return known;',
      },
      {
        file: 'webhook/view/slot-notifier.ts',
        find: '    if (now === undefined) return false;',
        replace: '    if (now === undefined || now.round > 0) return false;',
      },
      {
        file: 'webhook/watchdog/lost-refusals.ts',
        find: '    for (const { namespace } of next) void this.#resend(namespace);',
        replace: '    for (const { namespace } of next.slice(99)) void this.#resend(namespace);',
      },
    ],
  },
  {
    name: 'the verdict does not know that the raise is refused',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/domain/verdict/raise-verdict.ts',
        find: "message === undefined ? undefined : verdictResult('Unsupported', REASON.refusedByPolicy, message);",
        replace: 'undefined;',
      },
      {
        file: 'functions/lock/handle.ts',
        find: '  if (!isTried) return dryRunFirst(request, decision);',
        replace: "  if (!isTried && request.id === '') return dryRunFirst(request, decision);",
      },
    ],
  },
  {
    name: 'the raise gives twice what the VMMRQs give',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/raise.ts',
        find: 'formatQuantity(atMostStored(original(key) + more))] as const',
        replace: 'formatQuantity(atMostStored(original(key) + more + more))] as const',
      },
    ],
  },
  {
    name: 'the raise writes more than its grant says',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/grant.ts',
        find: '  const hard: ResourceList = { ...status?.hard, ...grant.raised };',
        replace: `  const tenfold = Object.entries(grant.raised).map(([key, text]) => [key, formatQuantity(parseQuantity(text) * 10n)]);
  const hard: ResourceList = { ...status?.hard, ...(Object.fromEntries(tenfold) as ResourceList) };`,
      },
      {
        file: 'functions/domain/quota/grant.ts',
        find: "import { isHardQuantity } from '../quantity.ts';",
        replace: "import { formatQuantity, isHardQuantity, parseQuantity } from '../quantity.ts';",
      },
    ],
  },
  {
    name: 'the lock lets in a UID that is no migration’s',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/lock/decide.ts',
        find: '    migrations: [...migrations],',
        replace:
          "    migrations: [...migrations, { name: 'nobody', uid: 'uid-of-nobody', vmi: 'uid-of-no-vmi' }],",
      },
    ],
  },
  {
    name: 'the lock lets in every migration of the namespace, and those that are over',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/lock/decide.ts',
        find: '    migrations: [...migrations],',
        replace: `    migrations: snapshot.migrations.map(({ metadata: { name, uid }, spec }) => {
      const vmi = snapshot.vmis.get(spec.vmiName ?? '')?.metadata.uid ?? 'none';
      return migrations.find((blocked) => blocked.uid === uid) ?? { name, uid, vmi };
    }),`,
      },
    ],
  },
  {
    name: 'policy Exact raises by all that is given',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/allowance.ts',
        find: 'const wanted = missing === undefined || missing > max ? max : missing;',
        replace: 'const wanted = missing === undefined ? max : max;',
      },
    ],
  },
  {
    name: 'unlock does not look at the token of the release',
    breaks: ['I1', 'I2', 'I7'],
    edits: [
      {
        file: 'functions/unlock/decide.ts',
        find: "  grantOf(quota).kind === 'none' && (isFencedBy(quota, lock.token) || isUnfenced(lock));",
        replace: "  grantOf(quota).kind === 'none' && lock.token !== '';",
      },
    ],
  },
  {
    name: 'unlock waits for nothing',
    breaks: ['I1', 'I2'],
    edits: [
      {
        file: 'functions/unlock/decide.ts',
        find: '  const open = quotas.find((quota) => !isBack(quota, lock));',
        replace: "  const open = quotas.find((quota) => !isBack(quota, lock) && quota.metadata.name === '');",
      },
    ],
  },
  {
    name: 'raise does not wait for hidden API servers',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: `      await pause(clock, settings.SETTLE_MS);
`,
        replace: '',
      },
    ],
  },
  {
    name: 'raise does not count hidden API servers',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/domain/api-servers.ts',
        find: 'mayHide: servers === 0 || servers > mostOfOneFamily(addresses)',
        replace: 'mayHide: servers === 0',
      },
    ],
  },
  {
    name: 'raise asks one API server for the proof',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/cluster/proof.ts',
        find: '  if (addresses.length < 2) return',
        replace: '  if (addresses.length < 9) return',
      },
    ],
  },
  {
    name: 'lower needs the list of pods at the end of a lock',
    breaks: ['I3'],
    edits: [
      {
        file: 'functions/lower/read.ts',
        find: '    isDue ? orFallback(pods, undefined, context) : pods,',
        replace: '    pods,',
      },
    ],
  },
  {
    name: 'no expiry',
    breaks: ['I3'],
    edits: [
      {
        file: 'functions/domain/lock.ts',
        find: '  return now >= Math.min(Date.parse(lock.expiresAt), latest);',
        replace: '  return now >= latest + Infinity;',
      },
      {
        file: 'functions/lower/decide.ts',
        find: 'isLockExpired(state.lock, now) || overdueToken === state.lock.token;',
        replace: 'isLockExpired(state.lock, now);',
      },
    ],
  },
  {
    name: 'a live lock is replaced',
    breaks: ['I6'],
    edits: [
      {
        file: 'functions/lock/handle.ts',
        find: `  if (live !== undefined) return continueWith(live, id);
`,
        replace: `  void live;
`,
      },
      {
        file: 'functions/lock/decide.ts',
        find: `  const held = heldAlready(snapshot, id);
  if (held !== undefined) return held;
`,
        replace: '',
      },
      {
        file: 'functions/domain/verdict/namespace-precondition.ts',
        find: "  if (lockOf(namespace).kind !== 'none') {",
        replace: "  if (lockOf(namespace).kind === 'malformed') {",
      },
    ],
  },
];

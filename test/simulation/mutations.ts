import type { Invariant } from './checker/invariant.ts';

/** A change of the protocol that must not go unseen: `find` is there exactly once in the file. */
export interface Mutation {
  readonly name: string;
  /** The invariants by one of which it is caught: which comes first depends on the seed. */
  readonly breaks: readonly Invariant[];
  /** One place or, where the code defends itself twice, all of them. */
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
    name: 'the grant is written in a second PUT',
    breaks: ['I4'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: 'writes.map((quota) => tools.cluster.replace(RESOURCE_QUOTAS, quota)),',
        replace: `writes.map(async (quota) => {
      const { 'mtq.kubevirt.io/grant': grant = '', ...annotations } = quota.metadata.annotations ?? {};
      const bare = { ...quota, metadata: { ...quota.metadata, annotations } };
      const { object } = await tools.cluster.replace(RESOURCE_QUOTAS, bare);
      return tools.cluster.replace(RESOURCE_QUOTAS, {
        ...object,
        metadata: { ...object.metadata, annotations: { ...annotations, 'mtq.kubevirt.io/grant': grant } },
      });
    }),`,
      },
    ],
  },
  {
    name: 'the record is dropped together with the restore',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/lower/next-write.ts',
        find: "if (back.changed) return { kind: 'restore', quota: back.quota, foreignEdits: back.foreignEdits };",
        replace:
          "if (back.changed) return { kind: 'restore', quota: releasedQuota(back.quota, grant.token), foreignEdits: back.foreignEdits };",
      },
    ],
  },
  {
    name: 'the label is dropped together with the restore',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/domain/quota/restore.ts',
        find: 'quota: { ...quota, spec: { ...quota.spec, hard: { ...hard, ...back } } },',
        replace:
          'quota: { ...quota, metadata: { ...quota.metadata, labels: {} }, spec: { ...quota.spec, hard: { ...hard, ...back } } },',
      },
    ],
  },
  {
    name: 'the namespace is read before the quotas',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: '    const found = await readQuotas(namespace, lock.quotas, tools.cluster);\n',
        replace: `    const early = await gather({ namespace, lock, quotas: [] }, tools);
    if (early === undefined) return NOT_OURS;
    const found = await readQuotas(namespace, lock.quotas, tools.cluster);
`,
      },
      {
        file: 'functions/raise/handle.ts',
        find: 'const snapshot = await gather({ namespace, lock, quotas: found }, tools);',
        replace: 'const snapshot = { ...early, quotas: found };',
      },
    ],
  },
  {
    name: 'no fence: raise does not look at last-release',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/decide.ts',
        find: 'return isForeign || quota.metadata.annotations?.[ANNOTATION.lastRelease] === token;',
        replace: 'return isForeign;',
      },
    ],
  },
  {
    name: 'no fence: lower leaves quotas that were never raised alone',
    breaks: ['I3'],
    edits: [
      {
        file: 'functions/lower/next-write.ts',
        find: "  return { kind: 'fence', quota: releasedQuota(quota, lock.token) };",
        replace: "  return { kind: 'done' };",
      },
    ],
  },
  {
    name: 'released before status.hard is back',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/lower/next-write.ts',
        find: "  if (!enforcesNoMore(quota)) return { kind: 'enforce', foreignEdits };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'no proof',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/cluster/proof.ts',
        find: '  const quota = { metadata: { name: PROOF_QUOTA, namespace }, spec: {} };\n',
        replace:
          "  const quota = { metadata: { name: PROOF_QUOTA, namespace }, spec: {} };\n  if (namespace !== '') return { proven: true };\n",
      },
    ],
  },
  {
    name: 'any refusal of the proof is one',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/cluster/proof.ts',
        find: '    return isWebhooks(error, token)',
        replace: '    return error.code >= 400 || isWebhooks(error, token)',
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
        find: 'if (isCreate && isOfLock && request.userInfo.username === controller) return ALLOWED;',
        replace: 'if (isCreate && isOfLock) return ALLOWED;',
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
        find: 'return read?.object.metadata.uid === uid ? [read.object] : [];',
        replace: "return read === undefined || uid === '' ? [] : [read.object];",
      },
    ],
  },
  {
    name: 'the original is taken from a raised quota',
    breaks: ['I4', 'I2'],
    edits: [
      {
        file: 'functions/raise/decide.ts',
        find: "const open = quotas.filter((quota) => grantOf(quota).kind === 'none');",
        replace: 'const open = quotas;',
      },
    ],
  },
  {
    name: 'no back-off',
    breaks: ['I7'],
    edits: [
      {
        file: 'functions/domain/verdict/attempt.ts',
        find: '  if (last === undefined) return undefined;\n  return budgetHold',
        replace: '  if (last === undefined || last.failures > 0) return undefined;\n  return budgetHold',
      },
    ],
  },
  {
    name: 'lower overwrites what somebody else set',
    breaks: ['I4'],
    edits: [
      {
        file: 'functions/domain/quota/restore.ts',
        find: 'if (now !== undefined && sameQuantity(now, raised)) back[key] = original;',
        replace: 'if (now !== undefined && raised !== undefined) back[key] = original;',
      },
    ],
  },
  {
    name: 'the watchdog does not repair',
    breaks: ['I3'],
    edits: [
      {
        file: 'webhook/watchdog/watchdog.ts',
        find: '    this.#timers.start(`${lockKey(name)}overdue`, () => this.#repair(name, token), {',
        replace: '    this.#timers.start(`${lockKey(name)}overdue`, () => Promise.resolve(), {',
      },
    ],
  },
  {
    name: 'the watchdog does not look at quotas without a lock',
    breaks: ['I3'],
    edits: [
      {
        file: 'webhook/watchdog/watchdog.ts',
        find: '    this.#timers.start(`${key}orphan`, () => this.#onOrphan(namespace), {',
        replace: "    if (key === '') this.#timers.start(`${key}orphan`, () => this.#onOrphan(namespace), {",
      },
    ],
  },
  {
    name: 'the watchdog does not sweep for migrations',
    breaks: ['I3'],
    edits: [
      {
        file: 'webhook/watchdog/sweep.ts',
        find: '  if (known.seen < known.nextAt) return known;',
        replace: '  if (known.seen > 0) return known;',
      },
    ],
  },
  {
    name: 'the raise gives twice what the VMMRQs give',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/grant.ts',
        find: 'raised[key] = formatQuantity(parseQuantity(text) + more);',
        replace: 'raised[key] = formatQuantity(parseQuantity(text) + more + more);',
      },
    ],
  },
  {
    name: 'the raise writes more than its grant says',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/grant.ts',
        find: 'spec: { ...quota.spec, hard: { ...hard, ...raised } },',
        replace: `spec: {
      ...quota.spec,
      hard: {
        ...hard,
        ...Object.fromEntries(
          Object.entries(raised).map(([key, text]) => [key, formatQuantity(parseQuantity(text) * 10n)]),
        ),
      },
    },`,
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
        replace:
          "    migrations: snapshot.migrations.map(({ metadata: { name, uid }, spec }) => ({ name, uid, vmi: snapshot.vmis.get(spec.vmiName ?? '')?.metadata.uid ?? 'none' })),",
      },
    ],
  },
  {
    name: 'policy Exact raises by all that is given',
    breaks: ['I5'],
    edits: [
      {
        file: 'functions/domain/quota/allowance.ts',
        find: 'const wanted = missing === undefined || missing > most ? most : missing;',
        replace: 'const wanted = missing === undefined ? most : most;',
      },
    ],
  },
  {
    name: 'unlock does not look at the token of the release',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/unlock/decide.ts',
        find: '    lock === undefined || quota.metadata.annotations?.[ANNOTATION.lastRelease] === lock.token;',
        replace: "    lock === undefined || quota.metadata.annotations?.[ANNOTATION.lastRelease] !== '';",
      },
    ],
  },
  {
    name: 'a lost race is not read again: lower writes what it read first',
    breaks: ['I1', 'I4'],
    edits: [
      {
        file: 'functions/lower/restore.ts',
        find: '  return { ours: false, quota: await reread(cluster, quota) };',
        replace:
          "  const { resourceVersion: _version, ...metadata } = quota.metadata;\n  return { ours: false, quota: { ...quota, metadata: { ...metadata, resourceVersion: '' } } };",
      },
    ],
  },
  {
    name: 'no waiting for the caches of other API servers',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/raise/handle.ts',
        find: '  if (tools.settings.SETTLE_MS > 0) await pause(tools.clock, tools.settings.SETTLE_MS);\n',
        replace: '',
      },
    ],
  },
  {
    name: 'unlock waits for nothing',
    breaks: ['I1'],
    edits: [
      {
        file: 'functions/unlock/decide.ts',
        find: 'const open = snapshot.quotas.find((quota) => !isBack(quota, lock));',
        replace:
          "const open = snapshot.quotas.find((quota) => !isBack(quota, lock) && quota.metadata.name === '');",
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
        find: 'isExpired(state.lock, now) || overdueToken === state.lock.token;',
        replace: 'isExpired(state.lock, now);',
      },
    ],
  },
  {
    name: 'a live lock is replaced',
    breaks: ['I6'],
    edits: [
      {
        file: 'functions/lock/handle.ts',
        find: '  if (live !== undefined) return answer(wake, goOn(live));\n',
        replace: '  void live;\n',
      },
      {
        file: 'functions/lock/decide.ts',
        find: '  const held = heldAlready(snapshot);\n  if (held !== undefined) return held;\n',
        replace: '',
      },
      {
        file: 'functions/domain/verdict/veto.ts',
        find: "  if (lockOf(namespace).kind !== 'none') {",
        replace: "  if (lockOf(namespace).kind === 'malformed') {",
      },
    ],
  },
];

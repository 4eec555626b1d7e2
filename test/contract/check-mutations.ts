import type { Edit, Mutation } from '../simulation/seeds/mutations.ts';

/** A defect outside the simulations that the tests of one file must catch. */
export interface CheckMutation extends Pick<Mutation, 'name' | 'edits'> {
  /** Path of the test file. */
  readonly caughtBy: string;
}

const mutation = (name: string, caughtBy: string, edit: Edit): CheckMutation => ({
  name,
  caughtBy,
  edits: [edit],
});

const FINDINGS = 'functions/live/findings';
const STATUS = 'functions/live/status';

/** Defects of what `live` checks, shows and reconciles besides its steps. */
export const CHECK_MUTATIONS: readonly CheckMutation[] = [
  mutation('a disk that VMs share is moved with each of them', `${FINDINGS}/volumes.test.ts`, {
    file: `${FINDINGS}/volumes.ts`,
    find: 'const others = users.filter((user) => user.uid !== uid);',
    replace: 'const others = users.filter((user) => user.uid === undefined);',
  }),
  mutation('a volume on the target that has the name is no problem', `${FINDINGS}/volumes.test.ts`, {
    file: `${FINDINGS}/volumes.ts`,
    find: 'targetCluster?.volumes.get(name);',
    replace: "targetCluster?.volumes.get('');",
  }),
  mutation('a LimitRange does not refuse a volume claim', `${FINDINGS}/limit-ranges.test.ts`, {
    file: `${FINDINGS}/limit-ranges.ts`,
    find: 'claimsRefusal(kept.claims, range),',
    replace: 'claimsRefusal([], range),',
  }),
  mutation('a LimitRange does not refuse a pod', `${FINDINGS}/limit-ranges.test.ts`, {
    file: `${FINDINGS}/limit-ranges.ts`,
    find: '...kept.pods.map((pod) => limitRangeRefusal(pod, [range])),',
    replace: '',
  }),
  mutation('a field of the Plan that does nothing is not named', `${FINDINGS}/ignored-fields.test.ts`, {
    file: `${FINDINGS}/ignored-fields.ts`,
    find: 'return used.includes(field) || isDefault || value === null ? [] : [field];',
    replace: 'return used.includes(field) || isDefault || value !== null ? [] : [field];',
  }),
  mutation('the progress of each end is 100 %', `${STATUS}/report.test.ts`, {
    file: `${STATUS}/run.ts`,
    find: "endOf(vm) === 'Succeeded' ? 100",
    replace: 'endOf(vm) !== undefined ? 100',
  }),
  mutation('a wait that ends by itself is a blocker at once', `${STATUS}/report.test.ts`, {
    file: `${STATUS}/waiting.ts`,
    find: 'BLOCKING.includes(reason) && endsItself !== true;',
    replace: 'BLOCKING.includes(reason) || endsItself === true;',
  }),
  mutation('two copies that run are not shown', `${STATUS}/after-move.test.ts`, {
    file: `${STATUS}/after-move.ts`,
    find: 'return runsOnTarget(target) ? [RUNS_ON_BOTH] : [];',
    replace: 'return runsOnTarget(target) ? [] : [];',
  }),
  mutation(
    'a Plan is not checked again where a user asks for that',
    'test/simulation/live/behaviours/refresh.test.ts',
    {
      file: 'functions/live/migration/migrations-of-event.ts',
      find: 'const isNew = !isChange || isRefreshAsked(plan) || !isPlanObserved(plan);',
      replace: 'const isNew = !isChange || !isPlanObserved(plan);',
    },
  ),
  mutation('the event of a VM is one of each VM that has its name', 'functions/live/watcher/wanted.test.ts', {
    file: 'functions/live/watcher/wanted.ts',
    find: 'onSource.push(`${namespace}/${name}`);',
    replace: 'onSource.push(`any/${name}`);',
  }),
  mutation(
    'a VMI that has taken the place of the receiver proves that it had no launcher',
    'functions/live/steps/decide.test.ts',
    {
      file: 'functions/live/guest/proofs.ts',
      find: '(record.attempt === 0 || vmi.metadata.uid === record.receiverVmi);',
      replace: '(record.attempt === 0 || vmi.metadata.uid !== undefined);',
    },
  ),
  mutation(
    'the second between the guest and its arrival is a failure',
    'functions/live/steps/wait-for-state-transfer.test.ts',
    {
      file: 'functions/live/steps/wait-for-state-transfer.ts',
      find: 'return wait(LIVE_REASON.transferring, isPulling ? PULLING : completing);',
      replace: 'return fail(LIVE_REASON.cutOverUndecided, completing);',
    },
  ),
  mutation(
    'each sign of a cut-over says that the guest was active',
    'functions/live/steps/wait-for-state-transfer.test.ts',
    {
      file: 'functions/live/steps/wait-for-state-transfer.ts',
      find: 'marks.some(({ mark }) => mark === MARK.guestReady || mark === MARK.postCopy)',
      replace: 'marks.length > 0',
    },
  ),
  mutation(
    'a refused token is answered with the break-glass',
    'test/simulation/live/behaviours/refresh.test.ts',
    {
      file: 'functions/live/migration/cluster-unknown.ts',
      find: 'if (!isUnauthorized(error)) return',
      replace: 'if (error !== undefined) return',
    },
  ),
  mutation('a copied object counts against no quota', 'functions/live/findings/quota.test.ts', {
    file: 'functions/live/findings/quota.ts',
    find: 'filter((one) => !copied.has(keyOf(one.kind, one.name)));',
    replace: 'filter((one) => one.kind === undefined);',
  }),
  mutation('a condition stands for each finding', 'functions/domain/live/conditions.test.ts', {
    file: 'functions/domain/live/conditions.ts',
    find: 'joined.set(key, known === undefined ? finding : joinedOf(known, finding));',
    replace: 'joined.set(`${key} ${String(joined.size)}`, finding);',
  }),
  mutation('a cancel of another VM than the run has is not named', 'functions/live/status/report.test.ts', {
    file: 'functions/live/status/migration-status.ts',
    find: 'cancel.filter((one) => !vms.some((vm) => isSameVm(vm, one))).map(labelOf)',
    replace: '[]',
  }),
  mutation(
    'an event that was posted is posted again',
    'test/simulation/live/behaviours/untaken-events.test.ts',
    {
      file: 'functions/live/migration/write-status.ts',
      find: 'outboxOf(object).filter(({ id }) => !posted.has(id));',
      replace: 'outboxOf(object).filter(({ id }) => id !== [...posted][0]);',
    },
  ),
  mutation('a run follows its Provider to the hub', 'functions/live/read/providers.test.ts', {
    file: 'functions/live/read/providers.ts',
    find: '(at.as.uid !== uid || at.as.isHub !== isHub)',
    replace: 'at.as.uid !== uid',
  }),
  mutation('a record names any namespace of the hub', 'functions/live/migration/move-vm.test.ts', {
    file: 'functions/live/migration/move-vm.ts',
    find: 'await expectMayKnow(snapshot, run);',
    replace: '',
  }),
  mutation('a finalizer that a user has copied holds a run', 'functions/live/migration/finalizers.test.ts', {
    file: 'functions/live/run/state.ts',
    find: 'hasFinalizer(migration) && migration.metadata.annotations?.[LIVE_ANNOTATION.clusters] !== undefined;',
    replace: 'hasFinalizer(migration);',
  }),
  mutation('a remote names its objects as it likes', 'functions/live/read/bounded-cluster.test.ts', {
    file: 'functions/live/read/bounded-cluster.ts',
    find: 'if (!isAsked || !areTexts)',
    replace: 'if (!isAsked)',
  }),
  mutation(
    'what the source lacks is taken from the target',
    'test/simulation/live/behaviours/hostile-source.test.ts',
    {
      file: 'functions/live/on-target/resources.ts',
      find: 'if (source === undefined) return notOnSource(resource);',
      replace: 'if (source === undefined) return [];',
    },
  ),
];

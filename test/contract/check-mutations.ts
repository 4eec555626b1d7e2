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
];

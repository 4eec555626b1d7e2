import { shown } from '../../domain/foreign-text.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import {
  DONE,
  fail,
  waitUntil,
  write,
  type LiveWrite,
  type NewObject,
  type StepDecision,
} from '../run/decision.ts';
import { checkFiles, hookObjects } from '../run/hook-job.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { isOfRun } from '../run/names.ts';
import { withRecord } from '../run/record.ts';
import type { HookView, RecordedRun, RunSnapshot } from '../run/snapshot.ts';
import { waitAtMost } from '../run/waiting-since.ts';
import type { Job } from '../../domain/live/kubevirt.ts';
import { describeName } from '../run/describe.ts';

/**
 * Runs the hook of a step once: its Job is found again by name, and its success is recorded, so that the Job may be deleted. A create has
 * no precondition, so a late call may make the Job again after that. So the Job is made suspended, and a PUT of the Job as
 * read starts it. The record is read after the Job, so it has the success of a Job that came before this one.
 */
export function runHook(snapshot: RecordedRun, step: HookView['step']): StepDecision {
  const view = snapshot.hub.hooks.find((each) => each.step === step);
  if (view === undefined || snapshot.record.hooks.includes(step)) return DONE;
  return view.job === undefined ? start(snapshot, view) : follow(snapshot, view, view.job);
}

function follow(snapshot: RecordedRun, view: HookView, job: Job): StepDecision {
  const { step } = view;
  if (!isOfRun(job, snapshot.run))
    return fail(
      LIVE_REASON.hookFailed,
      `the Job ${describeName(job)} is not of this run: delete it, and run the plan again`,
    );
  if (hasSucceeded(job)) return recordSuccess(snapshot, step);
  const failed = conditionOf(job, 'Failed');
  if (failed !== undefined)
    return fail(
      LIVE_REASON.hookFailed,
      `the Job ${describeName(job)} of the ${step} failed: ${shown(failed.message)}`,
    );
  if (isNew(job)) return resume(snapshot, view, job);
  const until = timeOf(job.metadata.creationTimestamp) + limitOf(view);
  const message = `waiting for the Job ${describeName(job)} of the ${step}`;
  return waitUntil(
    { now: snapshot.hub.now, until },
    { reason: LIVE_REASON.hookRuns, message },
    LIVE_REASON.hookFailed,
  );
}

const hasSucceeded = ({ status }: Job): boolean => (status?.succeeded ?? 0) > 0;

/** Whether the PostHook is due, by its Job alone: the record, which says so for good, is gone with the VM. */
export const isPostHookDue = ({ hub, run }: RunSnapshot): boolean =>
  hub.hooks.some(
    ({ step, job }) => step === 'PostHook' && !(job !== undefined && isOfRun(job, run) && hasSucceeded(job)),
  );

/** Returns the limit of the hook: the Job ends its pod by the hook's own deadline; the time to start it comes on top. */
const limitOf = ({ hook }: HookView): number =>
  hook?.spec.deadline ? hook.spec.deadline * 1_000 + LIMIT_MS.receiver : LIMIT_MS.hook;

/**
 * Suspends the Jobs that a run leaves running at its end, as after a cancel: they would run on beside the hooks of the next run. Kubernetes
 * ends the pods of a suspended Job. A Job is not deleted: a late call could make it again then.
 */
export function suspendHooks({ hub, run }: Pick<RunSnapshot, 'hub' | 'run'>): StepDecision {
  const jobs = hub.hooks.flatMap(({ job }) => job ?? []).filter((job) => isOfRun(job, run) && isActive(job));
  if (jobs.length === 0) return DONE;
  return write(
    `suspending the Job ${jobs.map(describeName).join(', ')}`,
    ...jobs.map((job) => withSuspend(job, true)),
  );
}

const isActive = (job: Job): boolean =>
  job.spec?.suspend !== true && ENDS.every((type) => conditionOf(job, type) === undefined);

const ENDS = ['Complete', 'Failed'] as const;
type JobEnd = (typeof ENDS)[number];

const conditionOf = (
  { status }: Job,
  end: JobEnd,
): NonNullable<NonNullable<Job['status']>['conditions']>[number] | undefined =>
  status?.conditions?.find(({ type, status: is }) => type === end && is === 'True');

const withSuspend = (job: Job, suspend: boolean): LiveWrite => ({
  verb: 'replace',
  on: 'hub',
  object: { ...job, spec: { ...job.spec, suspend } } as Job,
});

function start({ run, hub, source }: RecordedRun, view: HookView): StepDecision {
  const { step, hook } = view;
  if (hook === undefined) return withoutHook(view, hub);
  const objects = hookObjects({ run, step, hook, plan: hub.plan, vm: source.vm });
  return write(`starting the ${step}`, ...objects.map(create));
}

/** Fails, or waits where the Hook is not read: before the cut-over the run waits for that in Validate already. */
const withoutHook = ({ step, unread }: HookView, hub: RecordedRun['hub']): StepDecision =>
  unread === undefined
    ? fail(LIVE_REASON.hookFailed, `the Hook of the ${step} is gone`)
    : waitAtMost(hub.settings.sourceMs, hub, { reason: LIVE_REASON.refused, message: unread });

const create = (object: NewObject): LiveWrite => ({ verb: 'create', on: 'hub', object });

/** Whether the Job is as it was made. A controller that suspends it later, as a queue of Jobs does, also resumes it. */
export const isNew = ({ spec, metadata }: Job): boolean =>
  spec?.suspend === true && (metadata.generation ?? 1) === 1;

/** Resumes the Job only with the files of the run, which no user can change from then on. */
function resume({ run, hub, source }: RecordedRun, view: HookView, job: Job): StepDecision {
  const { step, hook, files } = view;
  if (hook === undefined) return withoutHook(view, hub);
  const input = { run, step, hook, plan: hub.plan, vm: source.vm };
  const [wanted] = hookObjects(input);
  const again = `making the ConfigMap of the ${step} again`;
  if (files === undefined) return write(again, create(wanted));
  const are = checkFiles(files, input, wanted);
  if (are === 'own')
    return write(`starting the Job ${describeName(job)} of the ${step}`, withSuspend(job, false));
  if (are === 'stale') return write(again, { verb: 'delete', on: 'hub', object: files }, create(wanted));
  return fail(
    LIVE_REASON.hookFailed,
    `the ConfigMap ${describeName(files)} of the ${step} is not as this run makes it: delete it, and run the plan again`,
  );
}

const recordSuccess = ({ source: { vm }, record }: RecordedRun, step: HookView['step']): StepDecision =>
  write(`recording that the ${step} has succeeded`, {
    verb: 'replace',
    on: 'source',
    object: withRecord(vm, { ...record, hooks: [...record.hooks, step] }),
  });

import { shown } from '../../domain/foreign-text.ts';
import { has, saysWait } from '../../domain/live/conditions.ts';
import type { MoveEvent } from '../../domain/live/move-events.ts';
import type { Plan, PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import { named } from '../../domain/live/reference.ts';
import { LIVE_CONDITION, MOVE_EVENT, type MoveEventType } from '../../domain/live/names.ts';
import type { Ended } from '../run/decision.ts';
import { defined } from './defined.ts';
import { doneIn, percentOf } from './pipeline.ts';
import { endOf, isGoingBack } from './vm.ts';

/** A VM's status before and after, with the message of the decision between. */
export interface Change {
  readonly before: VmStatus | undefined;
  readonly next: VmStatus;
  readonly message: string;
}

interface About {
  /** The Plan; undefined if it was deleted. */
  readonly plan: Plan | undefined;
  readonly migration: PlanMigration;
  /** Number of VMs that have not ended. */
  readonly left: number;
  /** RFC 3339. */
  readonly time: string;
}

/**
 * Returns the events of a change. The status that shows it has them in its outbox until they are posted (write-status.ts).
 */
export function transitionsOf(change: Change, { plan, migration, left, time }: About): MoveEvent[] {
  const { next, message } = change;
  const { namespace = '', name, uid } = migration.metadata;
  const vm = { namespace: next.namespace ?? '', name: next.name ?? '' };
  const current = next.conditions?.find((condition) => saysWait(condition) || isEnd(condition.type));
  const data = {
    plan: { namespace, ...named(migration.spec.plan) },
    migration: { namespace, name, uid },
    vm: { ...(next.id === undefined ? {} : { id: next.id }), ...vm },
    target: { ...defined({ namespace: plan?.spec.targetNamespace }), name: next.newName ?? vm.name },
    step: next.phase,
    ...(current?.reason === undefined ? {} : { reason: shown(current.reason) }),
    message: shown(message, 2_000),
    percent: percentOf(next.pipeline),
    left,
  };
  return transitions(change).map(({ type, detail }) => ({
    id: [uid, next.id ?? `${vm.namespace}.${vm.name}`, type.split('.').at(-1), ...detail].join('/'),
    ...{ type, time, data, subject: [namespace, name, vm.name].join('/') },
  }));
}

const ENDS: Readonly<Record<Ended['as'], MoveEventType>> = {
  Succeeded: MOVE_EVENT.succeeded,
  Failed: MOVE_EVENT.failed,
  Canceled: MOVE_EVENT.canceled,
};

const isEnd = (type: string): boolean => Object.hasOwn(ENDS, type);

/** A transition; `detail` tells several events of a type for a VM apart. */
interface Transition {
  readonly type: MoveEventType;
  readonly detail: readonly string[];
}

function transitions({ before, next }: Change): Transition[] {
  const of = (is: boolean, type: MoveEventType, ...detail: readonly string[]): Transition[] =>
    is ? [{ type, detail }] : [];
  const isNew = (member: 'started' | 'completed'): boolean =>
    next[member] !== undefined && before?.[member] === undefined;
  const isCutOver = has(next, LIVE_CONDITION.cutOver) && !has(before, LIVE_CONDITION.cutOver);
  const block = blockOf(next);
  const isBlocked = block !== undefined && block.join() !== blockOf(before)?.join();
  return [
    ...of(isNew('started'), MOVE_EVENT.started),
    ...of(isFurther(before, next), MOVE_EVENT.step, next.phase),
    ...of(isBlocked, MOVE_EVENT.blocked, ...(block ?? [])),
    ...of(isCutOver, MOVE_EVENT.cutover),
    ...of(isNew('completed'), ENDS[endOf(next) ?? 'Failed']),
  ];
}

/** Whether the VM has come further. A step that is due again is no news, and the end has an event of its own. */
function isFurther(before: VmStatus | undefined, next: VmStatus): boolean {
  if (next.completed !== undefined) return false;
  const isBack = isGoingBack(next) && (before === undefined || !isGoingBack(before));
  return isBack || doneIn(next.pipeline) > doneIn(before?.pipeline ?? []);
}

/** Returns the step at which the VM is blocked, and the reason. */
function blockOf(vm: VmStatus | undefined): readonly string[] | undefined {
  const block = vm?.conditions?.find(({ type }) => type === LIVE_CONDITION.blocked);
  return vm === undefined || block === undefined ? undefined : [vm.phase, shown(block.reason)];
}

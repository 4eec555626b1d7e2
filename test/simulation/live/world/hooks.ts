import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import type { HookView } from '../../../../functions/live/run/snapshot.ts';
import type { Job } from '../../../../functions/domain/live/kubevirt.ts';
import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import { JOBS } from '../../../../functions/kubernetes/live-resources.ts';
import { Random } from '../../engine/random.ts';
import type { Clusters } from './clusters.ts';
import type { Hub } from './hub.ts';

type Step = HookView['step'];

/** Of a plan's VM. */
const PLANS_WITH: readonly (readonly Step[])[] = [['PreHook'], ['PostHook'], ['PreHook', 'PostHook']];
/** How long a Job takes, milliseconds. */
const TAKES = [10, 300, 4_000, 60_000];

export const HOOK_HITS = ['a hook succeeds', 'a hook fails', 'the Job of a hook goes'] as const;

export interface HooksOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly onHit: (what: (typeof HOOK_HITS)[number]) => void;
}

/** The hooks of some runs, by numbers of their own, and the Jobs that run them. */
export class Hooks {
  readonly steps: readonly Step[];
  /** How often a Job of the step was started. */
  readonly started = new Map<Step, number>();
  readonly succeeded = new Set<Step>();
  readonly #options: HooksOptions;
  readonly #random: Random;
  readonly #failRate: number;
  readonly #goRate: number;

  constructor(options: HooksOptions) {
    const random = new Random(options.seed + 2 ** 41);
    this.#options = options;
    this.#random = random;
    this.steps = random.chance(0.3) ? random.pick(PLANS_WITH) : [];
    this.#failRate = random.pick([0, 0, 0.5]);
    this.#goRate = random.pick([0, 0.5]);
  }

  watch(hub: Hub): void {
    hub.store.onChange(({ kind, object, before }) => {
      if (kind !== JOBS.kind || !isStarted(object) || isStarted(before)) return;
      const step = stepOf(object);
      this.started.set(step, (this.started.get(step) ?? 0) + 1);
      this.#later(this.#random.pick(TAKES), () => this.#ends(hub, object));
    });
    // Nobody deletes a Job before its success is recorded: then it would have to run again.
    this.#options.clusters.pair.stores.source.onChange(({ object, before }) => {
      const recorded = recordIn(object);
      if (before === undefined || recorded === recordIn(before)) return;
      for (const step of this.steps.filter((one) => recorded.includes(`"${one}"`)))
        if (!recordIn(before).includes(`"${step}"`) && this.#random.chance(this.#goRate))
          this.#later(1, () => this.#goes(hub, step));
    });
  }

  async #ends(hub: Hub, { metadata: { namespace = '', name }, ...job }: KubernetesObject): Promise<void> {
    const hasFailed = this.#random.chance(this.#failRate);
    if (!hub.store.list<Job>(JOBS.kind).some((one) => one.metadata.name === name && isStarted(one))) return;
    const conditions = [{ type: hasFailed ? 'Failed' : 'Complete', status: 'True', message: 'it has ended' }];
    const status: Job['status'] = hasFailed ? { conditions } : { succeeded: 1, conditions };
    await hub.admin.patch(JOBS, { namespace, name }, { merge: { status }, subresource: 'status' });
    if (!hasFailed) this.succeeded.add(stepOf({ ...job, metadata: { namespace, name } as never }));
    this.#options.onHit(hasFailed ? 'a hook fails' : 'a hook succeeds');
  }

  async #goes(hub: Hub, step: Step): Promise<void> {
    const job = hub.store.list<Job>(JOBS.kind).find((one) => stepOf(one) === step);
    if (job === undefined) return;
    const { namespace = '', name } = job.metadata;
    await hub.admin.delete(JOBS, { namespace, name });
    this.#options.onHit('the Job of a hook goes');
  }

  #later(ms: number, work: () => Promise<void>): void {
    const { clusters } = this.#options;
    clusters.pair.schedule.later('hook', ms, () => clusters.try(work()));
  }
}

export const stepOf = ({ metadata }: Pick<KubernetesObject, 'metadata'>): Step =>
  metadata.name.includes('-prehook') ? 'PreHook' : 'PostHook';

/** The Job runs: it is not suspended. */
export const isStarted = (job: KubernetesObject | undefined): boolean =>
  job !== undefined && (job as Job).spec?.suspend !== true;

const recordIn = ({ metadata }: KubernetesObject): string =>
  metadata.annotations?.[LIVE_ANNOTATION.run] ?? '';

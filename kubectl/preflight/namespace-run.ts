import {
  candidatesAmong,
  hasTarget,
  launchersOf,
  targetPodOf,
  type Candidate,
} from '../../functions/domain/migration.ts';
import { KUBEVIRT, REASON } from '../../functions/domain/names.ts';
import type { Migration, PersistentVolumeClaim, Pod, ResourceQuota } from '../../functions/domain/objects.ts';
import { parsePodRejection, type PodRejection } from '../../functions/domain/quota/pod-rejection.ts';
import {
  claimShortfall,
  claimToCopy,
  claimToMake,
  leastClaimShortfall,
} from '../../functions/domain/sizing/claims.ts';
import { UPGRADE_OVERHEAD } from '../../functions/domain/sizing/growth.ts';
import { limitRangeRefusal, stateClaimRefusal } from '../../functions/domain/sizing/limit-range-refusal.ts';
import {
  KEPT_MIGRATIONS,
  migrationRefusal,
  withMigrationsCounted,
} from '../../functions/domain/verdict/migration-object.ts';
import {
  isForUpgrade,
  missingPodOf,
  sizeOf,
  sizeOfNext,
  type Sized,
} from '../../functions/domain/sizing/missing-pod.ts';
import { isSame } from '../../functions/domain/same.ts';
import type { NamespaceSnapshot } from '../../functions/domain/snapshot.ts';
import { evaluateAll } from '../../functions/domain/verdict/assessment.ts';
import { namespaceBlocker } from '../../functions/domain/verdict/namespace-precondition.ts';
import type { VerdictName, VerdictResult } from '../../functions/domain/verdict/verdict.ts';
import { vmmrqName } from '../../functions/domain/vmmrq-name.ts';
import {
  withClaim,
  withMigration,
  withoutClaim,
  withoutLauncher,
  withoutMigration,
  withoutPod,
  withPod,
} from './charges.ts';
import type { NamespaceFacts } from './facts.ts';
import { attachmentsOf, livingLaunchers, podsByVm, targetAttachment, targetLauncher } from './pods.ts';
import type { Surroundings } from './surroundings.ts';
import { MIGRATING, migrationsByVm, type Move } from './what-if.ts';

/** A verdict about one of the pods that a migration needs. */
interface PodVerdict extends Required<VerdictResult> {
  /** The VMMRQs that give what the pod lacks; empty: it needs none. */
  readonly by: readonly string[];
}

/** An attempt to migrate a VM, with the verdict about its target launcher, or about the pod that is refused. */
export interface Attempt extends PodVerdict {
  /** Whether every pod of the migration is charged now. */
  readonly goes: boolean;
  /** Whether the migration has its target launcher, so that KubeVirt counts it among its parallel migrations. */
  readonly holdsSlot: boolean;
}

interface SizedVerdict extends PodVerdict {
  /** The size; undefined if it is unknown. */
  readonly size: Sized | undefined;
}

/** A candidate, and the snapshot that it is evaluated in. */
interface Step {
  readonly move: Move;
  readonly candidate: Candidate;
  readonly snapshot: NamespaceSnapshot;
}

const GOING: readonly VerdictName[] = ['Fits', 'FitsWithRaise'];
/** Verdicts where amounts are missing. */
const RAISABLE: readonly VerdictName[] = ['NoFit', 'FitsWithRaise'];

/**
 * Migrates VMs of one namespace on paper. The verdicts are the functions' own, about a snapshot as it would be at that moment;
 * what a migration takes and returns is charged to copies of the quotas.
 */
export class NamespaceRun {
  readonly #facts: NamespaceFacts;
  readonly #surroundings: Surroundings;
  #quotas: readonly ResourceQuota[];
  #claims: readonly PersistentVolumeClaim[];
  readonly #pods: Map<string, readonly Pod[]>;
  /** Migrations that were created here, by uid. */
  readonly #created = new Set<string>();
  /** How many migrations of each VM have ended, as far as it is known. */
  readonly #ended = new Map<string, number>();
  /** VMs whose migration has all its pods, with the migration: its headroom will return. undefined: launchers are left over. */
  readonly #underWay = new Map<string, Migration | undefined>();

  constructor(facts: NamespaceFacts, surroundings: Surroundings) {
    this.#facts = facts;
    this.#surroundings = surroundings;
    const { migrations, ended = [] } = facts;
    const existing = migrations.length + ended.length;
    this.#quotas = facts.quotas.map((quota) => withMigrationsCounted(quota, existing));
    for (const { spec } of ended) this.#countEnded(spec.vmiName);
    this.#claims = facts.claims;
    this.#pods = podsByVm(facts.pods);
    const own = migrationsByVm(facts.migrations);
    for (const [vm, pods] of this.#pods) {
      if (livingLaunchers(pods).length < 2) continue;
      const migration = own.get(vm);
      // A migration that has no launcher yet returns nothing of several.
      const isUnderWay = migration !== undefined && targetPodOf(migration.metadata, pods) !== undefined;
      this.#underWay.set(vm, isUnderWay ? migration : undefined);
    }
  }

  /** The quotas as charged so far. */
  get quotas(): readonly ResourceQuota[] {
    return this.#quotas;
  }

  /**
   * Evaluates the migration, and charges what it gets: itself, its target launcher, then its attachment pod. A migration that gets only
   * its launcher keeps that, and may be attempted again.
   */
  attempt(move: Move): Attempt {
    const refusal = this.#create(move);
    if (refusal !== undefined) return { blocking: [], ...refusal, goes: false, holdsSlot: false, by: [] };
    const steps: SizedVerdict[] = [];
    for (;;) {
      this.#copyClaim(move);
      const step = this.#nextStep(move);
      if (step === undefined)
        return { ...(steps[0] ?? ON_ITS_WAY), goes: true, holdsSlot: true, by: givers(steps) };
      const evaluated = this.#evaluate(step);
      const { verdict, size } = evaluated;
      if (!GOING.includes(verdict) || size === undefined)
        return { ...evaluated, goes: false, holdsSlot: hasTarget(step.candidate), by: [] };
      steps.push(evaluated);
      this.#start(step, size);
    }
  }

  /**
   * The pods that a raise would be for, as they would be now: the migration's target launcher, and its attachment pod; [] if that is
   * unknown.
   */
  needOf(move: Move): Sized[] {
    const step = this.#nextStep(move);
    if (step === undefined) return [];
    const snapshot = forRaise(step.snapshot);
    const missing = missingPodOf(step.candidate, move.vmi, snapshot);
    if (missing === undefined) return [];
    const next = sizeOfNext(missing, snapshot);
    return [sizeOf(missing, snapshot), ...(next === undefined ? [] : [next])];
  }

  /** Migrates the VM whatever the quotas allow. */
  force(move: Move): void {
    for (;;) {
      const step = this.#nextStep(move);
      const missing = step && missingPodOf(step.candidate, move.vmi, step.snapshot);
      if (step === undefined || missing === undefined) break;
      this.#start(step, sizeOf(missing, step.snapshot));
    }
    this.finish();
  }

  /** Ends all migrations under way: their sources are gone. */
  finish(): void {
    for (const [vm, migration] of this.#underWay) {
      if (migration === undefined) continue;
      this.#end(vm, migration);
      this.#underWay.delete(vm);
    }
  }

  /** Creates the migration, if that is not done yet; returns why it is refused. */
  #create({ isNew, migration: { metadata } }: Move): VerdictResult | undefined {
    if (!isNew || this.#created.has(metadata.uid)) return undefined;
    const refusal = migrationRefusal(this.#quotas, this.#facts.quotas);
    if (refusal !== undefined) return refusal;
    this.#created.add(metadata.uid);
    this.#quotas = withMigration(this.#quotas);
    return undefined;
  }

  #countEnded(vm = ''): number {
    const ended = (this.#ended.get(vm) ?? 0) + 1;
    this.#ended.set(vm, ended);
    return ended;
  }

  /** The next step; undefined if the migration has all its pods. */
  #nextStep(move: Move): Step | undefined {
    const { name } = move.vmi.metadata;
    const own = this.#pods.get(name) ?? [];
    const [candidate] = candidatesAmong([move.migration], own);
    if (candidate === undefined) {
      this.#underWay.set(name, move.migration);
      return undefined;
    }
    this.#underWay.delete(name);
    const others = [...this.#underWay.keys()].flatMap((vm) => this.#pods.get(vm) ?? []);
    return { move, candidate, snapshot: this.#snapshot(move, [...own, ...others]) };
  }

  #snapshot({ vmi, migration, isShown }: Move, pods: readonly Pod[]): NamespaceSnapshot {
    const { namespace, vmmrqs, limitRanges, uncharged, refusals = [] } = this.#facts;
    // KubeVirt sets its condition at the first such refusal: without it, the Event is another writer's.
    const events = isShown ? this.#facts.events : withoutRefusals(this.#facts.events, { kind: 'exceeded' });
    const { rules: _, ...surroundings } = this.#surroundings;
    return {
      ...surroundings,
      namespace,
      vmmrqs,
      limitRanges,
      events: [...events, ...refusals],
      uncharged,
      migrations: [migration, ...[...this.#underWay.values()].flatMap((each) => each ?? []).map(running)],
      quotas: this.#quotas,
      claims: this.#claims,
      pods,
      vmis: new Map([[vmi.metadata.name, vmi]]),
    };
  }

  /**
   * Evaluates in the order of the refusals: of the volume claim, of the pod by a LimitRange, by a quota. The whole LimitRanges are known, so a
   * refusal by one that the pod would pass now is outdated.
   */
  #evaluate(step: Step): SizedVerdict {
    const { move, candidate, snapshot } = step;
    const missing = missingPodOf(candidate, move.vmi, snapshot);
    if (missing === undefined) return { ...this.#decide(step), size: undefined };
    const size = sizeOf(missing, snapshot);
    const refusal = limitRangeRefusal(size.pod, snapshot.limitRanges);
    const { lacks } = candidate.blocked;
    const known =
      refusal === undefined
        ? { ...snapshot, events: withoutRefusals(snapshot.events, { kind: 'limitRange', lacks }) }
        : snapshot;
    const result = unlessUnsure(this.#decide({ ...step, snapshot: known }), step);
    if (refusal === undefined || BEFORE_POD.includes(result.reason)) return { ...result, size };
    return { ...REFUSED, message: refusal, size };
  }

  /**
   * Decides whether a raise helps. A pod that fits needs no raise, so that nothing in the namespace prevents it; nor does it matter
   * where no raise helps.
   */
  #decide({ move, candidate, snapshot }: Step): PodVerdict {
    const fit = verdictOf(candidate, snapshot);
    if (!RAISABLE.includes(fit.verdict)) return fit;
    const { blocking } = fit;
    const byMargin = verdictOf(candidate, forRaise(snapshot));
    // A refusal of the newer launcher has its size, for the keys that it lacks.
    const isRefused = isForUpgrade(candidate, move.vmi) && isSame(keysOf(byMargin), keysOf(fit));
    const raise = isRefused ? fit : { ...byMargin, blocking };
    const blocker = namespaceBlocker(snapshot, this.#surroundings.rules);
    if (blocker === undefined) return raise;
    return { ...blocker, message: `${blocker.message}; ${raise.message}`, blocking, by: [] };
  }

  /** Creates the missing pod. */
  #start({ move, candidate }: Step, { pod, need }: Sized): void {
    const { name } = move.vmi.metadata;
    const own = this.#pods.get(name) ?? [];
    const made = hasTarget(candidate)
      ? targetAttachment(pod, move.migration, own)
      : targetLauncher(pod, move.migration);
    this.#quotas = withPod(this.#quotas, made, need);
    this.#pods.set(name, [...own, made]);
  }

  /** The target's volume claim comes before its pod, and stays whether that is refused or not; the source's goes with the source. */
  #copyClaim({ vmi, migration }: Move): void {
    const { stateStorageClass } = this.#surroundings;
    const known = { claims: this.#claims, stateStorageClass };
    const now = { ...known, quotas: this.#quotas, limitRanges: this.#facts.limitRanges };
    const source = claimToCopy(migration, vmi, this.#claims);
    if (source === undefined || claimShortfall(migration, vmi, now) !== '') return;
    if (stateClaimRefusal(migration, vmi, now) !== undefined) return;
    const { name } = migration.metadata;
    const labels = { [KUBEVIRT.migrationName]: name };
    const spec = { ...source.spec, ...claimToMake(migration, vmi, known)?.spec };
    const copy = { spec, metadata: { ...source.metadata, name: `state-for-${name}`, labels } };
    this.#quotas = withClaim(this.#quotas, copy);
    this.#claims = [...this.#claims, copy];
  }

  #end(vm: string, migration: Migration): void {
    const own = this.#pods.get(vm) ?? [];
    const sources = launchersOf(migration, own);
    const attachments = sources.flatMap((source) => attachmentsOf(source, own));
    for (const source of sources) this.#quotas = withoutLauncher(this.#quotas, source);
    for (const attachment of attachments) this.#quotas = withoutPod(this.#quotas, attachment);
    this.#pods.set(
      vm,
      own.filter((pod) => !sources.includes(pod) && !attachments.includes(pod)),
    );
    this.#dropClaims(vm, migration);
    // KubeVirt deletes the oldest.
    if (this.#countEnded(vm) > KEPT_MIGRATIONS) this.#quotas = withoutMigration(this.#quotas);
  }

  #dropClaims(vm: string, { metadata }: Migration): void {
    const isCopied = this.#claims.some(
      (claim) => claim.metadata.labels?.[KUBEVIRT.migrationName] === metadata.name,
    );
    if (!isCopied) return;
    const dropped = this.#claims.filter((claim) => claim.metadata.labels?.[KUBEVIRT.stateOf] === vm);
    for (const claim of dropped) this.#quotas = withoutClaim(this.#quotas, claim);
    this.#claims = this.#claims.filter((claim) => !dropped.includes(claim));
  }
}

function verdictOf(candidate: Candidate, snapshot: NamespaceSnapshot): PodVerdict {
  const { verdicts, vmmrqs } = evaluateAll({
    snapshot,
    candidates: [candidate],
    onEvaluate: () => undefined,
  });
  const [result] = verdicts;
  if (result === undefined) throw new Error('one candidate has one verdict');
  const { verdict, reason, message, blocking } = result;
  return { verdict, reason, message, blocking, by: vmmrqs.map(vmmrqName) };
}

/** Only KubeVirt knows of which class and size the volume claim will be: where the least claim has room, nobody can tell. */
function unlessUnsure(result: PodVerdict, { move: { migration, vmi }, snapshot }: Step): PodVerdict {
  if (result.reason !== REASON.volumeQuota || leastClaimShortfall(migration, vmi, snapshot) !== '')
    return result;
  return {
    ...result,
    verdict: 'Waiting',
    message: `${result.message}, if KubeVirt makes it like the VM's own`,
  };
}

interface RefusedFor extends Pick<Candidate['blocked'], 'lacks'> {
  readonly kind: PodRejection['kind'];
}

/** The Events but those of pods that were refused for this: launchers, or attachment pods where those are what is lacking. */
const withoutRefusals = (
  events: NamespaceSnapshot['events'],
  { kind, lacks }: RefusedFor,
): NamespaceSnapshot['events'] =>
  events.filter(({ message }) => parsePodRejection(message ?? '', lacks)?.kind !== kind);

const keysOf = ({ blocking }: PodVerdict): string[] =>
  blocking.flatMap(({ quota, shortfalls }) => shortfalls.map(({ key }) => `${quota.uid} ${key}`));

/**
 * The snapshot for a raise: where no refusal says what a newer launcher needs, the functions raise by their own margin, even if a user knows
 * that it needs less.
 */
function forRaise(snapshot: NamespaceSnapshot): NamespaceSnapshot {
  const { upgradeOverhead } = snapshot;
  const isLess = upgradeOverhead !== undefined && upgradeOverhead < UPGRADE_OVERHEAD;
  return isLess ? { ...snapshot, upgradeOverhead: UPGRADE_OVERHEAD } : snapshot;
}

/** The migration as it is once it has its pods: it takes a slot of this preflight's own count (slots.ts). */
const running = (migration: Migration): Migration => ({
  ...migration,
  status: { ...migration.status, phase: 'Running' },
});

const givers = (steps: readonly PodVerdict[]): string[] => [...new Set(steps.flatMap(({ by }) => by))];

/** Reasons of a verdict that is about the claim, or has the API server's own text. */
const BEFORE_POD: readonly string[] = [REASON.volumeQuota, REASON.limitRange];

const REFUSED = { verdict: 'Unsupported', reason: REASON.limitRange, blocking: [], by: [] } as const;

const ON_ITS_WAY: Omit<PodVerdict, 'by'> = {
  verdict: 'NotBlocked',
  reason: REASON.admitted,
  message: MIGRATING.message,
  blocking: [],
};

import type { Amounts } from '../../../functions/domain/quota/charged.ts';
import { podIdentity, podIdentityOf } from '../../../functions/domain/lock.ts';
import { targetPodOf } from '../../../functions/domain/migration.ts';
import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { Pod } from '../../../functions/domain/objects.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import type { Change } from '../model/store.ts';
import type { Locks, Report } from './locks.ts';

/** A write of a pod, from its admission on. */
interface AdmittedPod {
  readonly user: string;
  /** Position of the start of its admission in the order of all steps of the run. */
  readonly at: number;
  /** The tokens under which it was charged while a quota was raised. */
  readonly under: Set<string>;
}

export interface AdmissionParts {
  readonly locks: Locks;
  readonly report: Report;
  /** When each token was proven. */
  readonly proofs: ReadonlyMap<string, number>;
  /** Whether a key that counts this is raised now; of no amounts: whether any key is. */
  readonly isRaised: (usage?: Amounts) => boolean;
}

export const isVirtController = (user: string): boolean => user.endsWith(':kubevirt-controller');

/** I1: checks each pod that is admitted while status.hard is above the original. */
export class Admissions {
  /** Pods outside the lock whose admission had begun before the proof: the lock cannot stop them. */
  podsOutsideLock = 0;
  readonly #parts: AdmissionParts;
  readonly #admitted = new Map<string, AdmittedPod>();
  readonly #through = new Set<string>();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** The migration has had its target pod. */
  isThrough(uid: string): boolean {
    return this.#through.has(uid);
  }

  begin(name: string, user: string, at: number): void {
    this.#admitted.set(name, { user, at, under: new Set() });
  }

  charge(name: string): void {
    const { locks, isRaised } = this.#parts;
    if (locks.lock !== undefined && isRaised()) this.#admitted.get(name)?.under.add(locks.lock.token);
  }

  see({ type, before, object }: Change): void {
    if (type === 'DELETED') return;
    const pod = object as Pod;
    if (type === 'ADDED') this.#note(pod);
    const usage = podUsage(pod);
    if (type === 'ADDED' || hasGrown(usage, podUsage(before as Pod))) this.#check(pod, usage);
  }

  #note(pod: Pod): void {
    const uid = pod.metadata.labels?.[KUBEVIRT.migrationJobUID];
    if (uid !== undefined && targetPodOf({ name: '', uid }, [pod]) !== undefined) this.#through.add(uid);
  }

  #check(pod: Pod, usage: Amounts): void {
    const { locks, report, isRaised, proofs } = this.#parts;
    const admitted = this.#admitted.get(pod.metadata.name);
    if (admitted === undefined) return;
    const tokens = new Set(admitted.under);
    if (locks.lock !== undefined && isRaised(usage)) tokens.add(locks.lock.token);
    for (const token of tokens) {
      if (this.#isWelcome(pod, admitted, token)) continue;
      if (admitted.at < (proofs.get(token) ?? 0)) this.podsOutsideLock += 1;
      else
        report(
          `I1: pod ${pod.metadata.name} was admitted above an original, while ${token} held the namespace`,
        );
    }
  }

  /** The pod belongs to a migration of the lock and to KubeVirt, or an admin removed the lock by hand. */
  #isWelcome(pod: Pod, { user }: AdmittedPod, token: string): boolean {
    const { locks } = this.#parts;
    if (locks.isBroken(token)) return true;
    const identity = podIdentityOf(pod);
    const isOfLock =
      locks.of(token)?.migrations.some((migration) => podIdentity(migration) === identity) === true;
    return isOfLock && isVirtController(user);
  }
}

const hasGrown = (usage: Amounts, before: Amounts): boolean =>
  [...usage].some(([key, amount]) => amount > (before.get(key) ?? 0n));

import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { isHaltedByNextCrash } from '../guest/proofs.ts';
import type { Candidate } from './candidates.ts';

/** VMs that a failed attempt has left so, until another migration clears it. */
export const nextCrashFindings = (candidates: readonly Candidate[]): Finding[] =>
  findingOf(
    candidates.filter(isHaltedByNextCrash).map(({ name }) => name),
    {
      ...{ type: LIVE_CONDITION.nextCrashHalts, category: 'Warn', reason: 'MigrationFailed' },
      message:
        'KubeVirt halts these VMs at their next crash or restart, because their last migration failed.',
      suggestion: 'Migrate each once within its cluster (virtctl migrate), which clears that.',
    },
  );

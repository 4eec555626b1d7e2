import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { gitOpsMarks } from '../run/gitops.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { Candidate } from './candidates.ts';

/** VMs that a GitOps tool owns. A run sees the tool's changes for ten minutes (functions/live/run/deadlines.ts), and none later. */
export const gitOpsFindings = (candidates: readonly Candidate[]): Finding[] =>
  findingOf(
    candidates.flatMap(({ name, vm }) => gitOpsMarks(vm).map((mark) => `${name}: ${mark}`)),
    {
      ...{ type: LIVE_CONDITION.syncMayStartSource, category: 'Warn', reason: 'OwnedByGitOps' },
      message: 'A GitOps tool owns these VMs: its sync may start a second copy on the source after the move.',
      suggestion:
        'Before the move, pause its sync, and set the VMs to Halted in the repository before it goes on. Or take the VMs out of the ' +
        'repository without pruning, and then the named labels and annotations off them.',
    },
  );

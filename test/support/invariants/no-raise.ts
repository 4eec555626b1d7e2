import { expect } from '@jest/globals';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import { EVENTS, NAMESPACES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent } from './quiescent.ts';
import { wasRaised } from './invariants.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';
import { newTenant } from '../tenant/tenant.ts';
import { rawText } from '../raw-text.ts';

/** An answer to the proof request that proves nothing. */
export interface Answer {
  /** Causes this answer. */
  readonly arrange: () => Promise<void>;
  readonly putRight: () => Promise<void>;
  /** The reported text. */
  readonly reason: string;
}

/** A namespace's name for one case of a table. */
export const nameOf = (what: string): string => what.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');

/** Runs a migration without a proof: locked, not raised, reported, unlocked. With the right answer it then gets its target pod. */
export async function expectNoRaise(
  environment: TestEnvironment,
  name: string,
  answer: Answer,
): Promise<void> {
  const tenant = await newTenant(environment, { name });
  const { history } = tenant;
  await answer.arrange();
  try {
    await tenant.migrate();
    // The first lock without a proof is free, and the next one follows at once.
    await history.until('the VMMRQ says so', () =>
      (history.latest(VMMRQS)?.status?.conditions ?? []).some(
        ({ status, reason }) => status === 'True' && reason === 'NoProof',
      ),
    );
    await tenant.untilUnlocked();
    expect(wasRaised(history)).toBe(false);
    const annotations = history.latest(NAMESPACES)?.metadata.annotations ?? {};
    const attempt = JSON.parse(annotations[ANNOTATION.lastAttempt] ?? '{}') as Record<string, unknown>;
    expect(attempt).toMatchObject({ reason: 'NoProof', outcome: 'ourFault', failures: 0 });
  } finally {
    await answer.putRight();
  }

  await history.until('an Event on the migration says what was answered', () =>
    history
      .of(EVENTS)
      .some(({ involvedObject, message }) =>
        [involvedObject.name === 'mig0', rawText(message).includes(answer.reason)].every(Boolean),
      ),
  );
  // The migration is not the cause, so the next attempt comes soon.
  await tenant.untilThrough();
  await expectQuiescent(environment.admin, tenant);
}

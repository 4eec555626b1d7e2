import { setTimeout as delay } from 'node:timers/promises';
import type { Figure } from './figures.ts';
import { timeReviews } from './guard-reviews.ts';
import type { Measuring } from './measuring.ts';
import type { Findings } from './report.ts';
import { residentMiB } from './processes.ts';
import type { Scene } from './scene.ts';
import { blockedTenant, settleAll } from './tenants.ts';

const NAMESPACE = 'bench-guard';
const REVIEWS_PER_RELEASE = 50;
/** Until what was busy is at rest. */
const IDLE_MS = 3_000;

/** How long the guard takes for a review, and what it holds when nobody asks. */
export async function measureGuard(scene: Scene, { releases, onProgress }: Measuring): Promise<Findings> {
  const count = releases * REVIEWS_PER_RELEASE;
  onProgress(`${count} reviews by the guard`);
  await settleAll(scene, [blockedTenant(NAMESPACE)]);
  const reviews = await timeReviews(scene, NAMESPACE, count);
  await delay(IDLE_MS);
  const memory = [residentMiB(scene.cluster.guard().pid)];
  const group = 'the guard';
  const figures: Figure[] = [
    { group, name: 'a review', unit: 'ms', samples: reviews, share: 0.5 },
    { group, name: 'a review', unit: 'ms', samples: reviews, share: 0.99, atMost: 15 },
    { group, name: 'resident memory, idle again', unit: 'MiB', samples: memory, atMost: 80 },
  ];
  return { figures };
}

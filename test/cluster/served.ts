import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';

export const CRDS: ResourceType = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** The API server serves a new CRD after an unknown delay, so this polls. Rejects with the last refusal. */
export async function untilServed(cluster: Cluster, type: ResourceType): Promise<void> {
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    try {
      await cluster.list(type, {});
      return;
    } catch (error) {
      if (!isNotYet(error) || performance.now() > until) throw error;
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** 404: not served yet; 429: "storage is (re)initializing". */
const isNotYet = (error: unknown): boolean => error instanceof ApiError && [404, 429].includes(error.code);

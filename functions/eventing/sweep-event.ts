import { CloudEvent } from 'cloudevents';
import type { FORKLIFT_KIND } from '../domain/live/names.ts';
import { LIVE_EVENT } from '../domain/live/names.ts';
import { sourceOf } from '../domain/names.ts';

/** A Plan or a Migration. */
export interface LiveSubject {
  readonly kind: (typeof FORKLIFT_KIND)['plan' | 'migration']['kind'];
  readonly namespace: string;
  readonly name: string;
}

/** The guard's event about an object that `live` has to look at again. `turn`: makes the id, so that two guards post the same one. */
export const sweepEventOf = (
  { kind, namespace, name }: LiveSubject,
  turn: number,
): CloudEvent<Record<string, unknown>> =>
  new CloudEvent({
    type: LIVE_EVENT.sweep,
    source: sourceOf('guard'),
    subject: `${namespace}/${name}`,
    id: `guard/live.sweep/${kind}/${namespace}/${name}/${String(turn)}`,
    datacontenttype: 'application/json',
    data: { kind, namespace, name },
  });

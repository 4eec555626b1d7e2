import type { CloudEvent } from 'cloudevents';
import * as z from 'zod';
import { BadEvent } from '../serve.ts';

/** A node of the roll has no VMs left: work on it. May come again while the work lasts. */
export const DRAINED = 'example.rolling.drained';
/** The node may take VMs again. */
export const WORKED = 'example.rolling.worked';

const about = z.object({ node: z.string().min(1).max(253) });

export function nodeIn({ type, data }: CloudEvent<unknown>): string {
  const parsed = about.safeParse(data);
  if (!parsed.success) throw new BadEvent(`data of ${type}: ${z.prettifyError(parsed.error)}`);
  return parsed.data.node;
}

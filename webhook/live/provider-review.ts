import { isUsable } from '../../functions/live/findings/providers.ts';
import { LIVE_REFUSAL } from '../admission/messages.ts';
import * as z from '../../functions/runtime/zod.ts';

const text = z.optional(z.string());
const schema = z.object({
  spec: z.object({
    type: text,
    url: text,
    secret: z.optional(z.object({ name: text, namespace: text })),
  }),
});

interface At {
  readonly namespace: string;
  readonly allowLoopback: boolean;
}

/** Returns why a Provider is refused, with what to do; undefined if it is not. Providers of other types are Forklift's. */
export function providerProblem(provider: unknown, { namespace, allowLoopback }: At): string | undefined {
  const parsed = schema.safeParse(provider);
  if (!parsed.success) return LIVE_REFUSAL.badProvider();
  const { type, url = '', secret } = parsed.data.spec;
  if (type !== 'openshift' || url === '') return undefined;
  if (!isUsable(url, allowLoopback)) return LIVE_REFUSAL.badUrl();
  return isElsewhere(secret?.namespace, namespace) ? LIVE_REFUSAL.foreignSecret() : undefined;
}

const isElsewhere = (of: string | undefined, namespace: string): boolean =>
  of !== undefined && of !== '' && of !== namespace;

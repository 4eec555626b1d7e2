import { parseJson } from '../bounded.ts';
import { LIVE_ANNOTATION } from './names.ts';
import type { KubernetesObject } from '../objects.ts';
import * as z from '../../runtime/zod.ts';

const texts = z.array(z.string());
const requesterSchema = z.object({
  user: z.string().check(z.minLength(1)),
  uid: z.optional(z.string()),
  groups: texts,
  /** Other attributes that an authorizer may check, such as the scopes of a token. */
  extra: z.optional(z.record(z.string(), texts)),
});

/** The user who wrote an object, as the API server knew them. Only what this user may do is done for the object. */
export type Requester = z.infer<typeof requesterSchema>;

/** Returns the requester as admission wrote it. Returns undefined if admission did not: then nothing must be done for the object. */
export function requesterOf({ metadata }: Pick<KubernetesObject, 'metadata'>): Requester | undefined {
  const content = metadata.annotations?.[LIVE_ANNOTATION.requester];
  if (content === undefined) return undefined;
  return requesterSchema.safeParse(parseJson(content)).data;
}

/** Returns the requesters of the objects, each once; undefined if that of one is not known. */
export function requestersOf(
  objects: readonly Pick<KubernetesObject, 'metadata'>[],
): Requester[] | undefined {
  const requesters = objects.map(requesterOf);
  const known = requesters.filter((requester) => requester !== undefined);
  if (known.length < requesters.length) return undefined;
  return [...new Map(known.map((requester) => [JSON.stringify(requester), requester])).values()];
}

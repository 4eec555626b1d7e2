import type { Wake } from '../eventing/wake.ts';
import { grantIn, type Grant } from '../domain/quota/grant.ts';
import { isCharged, isUndone } from '../domain/quota/raise.ts';
import { ANNOTATION, KIND, SOURCE_EVENT } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import type { ToldOf } from '../eventing/told.ts';

/**
 * What an event itself tells is no end of any migration's wait: the raise stands, and not everything is charged that it was made
 * for. Where that is not so any more, a later event says it; where that is lost, the guard does.
 */
export function isIdle({ type, told }: Wake): boolean {
  if (type === SOURCE_EVENT.delete || told?.kind !== KIND.quota.kind) return false;
  const grant = grantTold(told);
  const status = statusTold(told);
  return grant !== undefined && !isUndone({ status }, grant) && !isCharged({ status }, grant);
}

type ToldQuota = ToldOf<typeof KIND.quota.kind>;

function grantTold({ metadata }: ToldQuota): Grant | undefined {
  const text = metadata.annotations?.[ANNOTATION.grant];
  const state = text === undefined ? undefined : grantIn(text);
  return state?.kind === 'held' ? state.grant : undefined;
}

const statusTold = ({ status }: ToldQuota): NonNullable<ResourceQuota['status']> => ({
  hard: status?.hard ?? {},
  used: status?.used ?? {},
});

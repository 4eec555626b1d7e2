import { EVENT, KIND, SOURCE_EVENT } from '../../../functions/domain/names.ts';
import { nth, type Attack, type Attempt } from './attack.ts';
import type { ObservedState } from './sight.ts';

/** Addresses that accept events: by default every pod in the cluster may post to them. */
export interface Sinks {
  readonly broker: string;
  readonly functions: readonly string[];
}

const WRONG = '11111111-1111-4111-8111-111111111111';

interface Forged {
  readonly type: string;
  /** Extensions and subject of a forged source event. */
  readonly about?: (observed: ObservedState) => Readonly<Record<string, string>>;
  /** Which token a forged event of our own types carries. */
  readonly token?: 'right' | 'wrong' | 'no';
}

const aboutObject =
  ({ apiVersion, kind }: { apiVersion: string; kind: string }) =>
  ({ namespace, migration }: ObservedState): Record<string, string> => ({
    apiversion: apiVersion,
    kind,
    namespace,
    name: migration,
    subject: `/apis/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${migration}`,
  });

/** All nine of our event types with the right token, a wrong one and none; and source events for each kind it reports. */
const FORGED: readonly Forged[] = [
  ...Object.values(EVENT).flatMap((type) =>
    (['right', 'wrong', 'no'] as const).map((token) => ({ type, token })),
  ),
  ...Object.values(SOURCE_EVENT).flatMap((type) =>
    [KIND.migration, KIND.vmmrq, KIND.quota].map((kind) => ({ type, about: aboutObject(kind) })),
  ),
];

let posted = 0;

function eventTo(
  url: string,
  to: string,
  [observed, { type, about, token }]: readonly [ObservedState, Forged],
): Attempt {
  posted += 1;
  const { namespace } = observed;
  const tokens = { right: observed.token, wrong: WRONG, no: undefined };
  const mtqtoken = tokens[token ?? 'no'];
  const of = mtqtoken === undefined ? {} : { token: mtqtoken };
  const attributes = {
    id: `forged-${posted}`,
    source: '/mtq/lock',
    subject: namespace,
    ...(mtqtoken === undefined ? {} : { mtqtoken }),
    ...about?.(observed),
  };
  const headers = Object.fromEntries(Object.entries(attributes).map(([key, value]) => [`ce-${key}`, value]));
  return {
    shape: `event to ${to}: ${token === undefined ? "the source's" : `ours, ${token} token`}`,
    method: 'POST',
    path: url,
    headers: { 'ce-specversion': '1.0', 'ce-type': type, ...headers },
    body: { namespace, ...of, reason: 'Locked', migrations: [{ name: 'forged', uid: WRONG }] },
  };
}

/** Posts to a function directly, and every fifth time to the Broker, which delivers by Trigger. */
export const forgeEvents = ({ broker, functions }: Sinks): Attack => ({
  name: 'events',
  clients: 1,
  pauseMs: 400,
  next: (observed, n) => {
    const forged = nth(FORGED, n);
    const direct = eventTo(nth(functions, Math.floor(n / FORGED.length)), 'a function', [observed, forged]);
    return n % 5 === 0 ? [direct, eventTo(broker, 'the Broker', [observed, forged])] : [direct];
  },
});

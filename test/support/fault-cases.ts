import type { Fault } from './faulty-proxy.ts';
import { all, isIn, type Hits } from './our-writes.ts';
import { fullFor, type Tenant } from './tenant.ts';

/** How a namespace gets to the writes in question. */
export interface FaultCase {
  readonly writes: Readonly<Record<string, Hits>>;
  /** Writes whose failure is only logged: the process is killed by them, and that is all that can happen. */
  readonly reports?: Readonly<Record<string, Hits>>;
  readonly run: (tenant: Tenant) => Promise<void>;
  /** False: nobody locks it. */
  readonly locks?: false;
}

/** One write, and what becomes of it. */
export interface Case {
  readonly name: string;
  readonly faultCase: FaultCase;
  readonly fault: (namespace: string) => Fault;
}

const PROXY_FAULTS: Readonly<Record<Fault['proxyFault'], string>> = {
  kill: 'the process is killed',
  cut: 'the connection breaks',
  '504': 'the API server says 504',
};

const WHEN = ['before', 'after'] as const;

/** Each of its writes × each harm × before and after. */
export function casesOf(faultCase: FaultCase): Case[] {
  const withProxyFault = (proxyFault: Fault['proxyFault'], writes: FaultCase['writes']): Case[] =>
    WHEN.flatMap((when) =>
      Object.entries(writes).map(([write, hits]) => ({
        name: `${write}: ${PROXY_FAULTS[proxyFault]} ${when} it`,
        faultCase,
        fault: (namespace) => ({ hits: all(isIn(namespace), hits), when, proxyFault }),
      })),
    );
  return [
    ...withProxyFault('kill', { ...faultCase.writes, ...faultCase.reports }),
    ...withProxyFault('cut', faultCase.writes),
    ...withProxyFault('504', faultCase.writes),
  ];
}

/** Two quotas of one VM, both full, so that one may be written and the other not. */
const { pods: PODS = '', 'requests.cpu': CPU = '', 'requests.memory': MEMORY = '' } = fullFor(1);
export const TWO_QUOTAS = { cpu: { 'requests.cpu': CPU, pods: PODS }, memory: { 'requests.memory': MEMORY } };

import type { Fault } from './faulty-proxy.ts';
import { all, isIn, type Hits } from './our-writes.ts';
import { fullFor, type Tenant } from '../tenant/tenant.ts';

/** How a test brings a namespace to the tested writes. */
export interface FaultCase {
  readonly writes: Readonly<Record<string, Hits>>;
  /** Writes whose failure is only logged, so that killing the process is the only useful fault. */
  readonly reports?: Readonly<Record<string, Hits>>;
  readonly run: (tenant: Tenant) => Promise<void>;
  /** False: no step locks the namespace. */
  readonly locks?: false;
}

/** One write and its fault. */
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

/** Each write × each fault × before and after. */
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

/** Two full quotas of one VM, so that a fault can hit one write and not the other. */
const { pods: PODS = '', 'requests.cpu': CPU = '', 'requests.memory': MEMORY = '' } = fullFor(1);
export const TWO_QUOTAS = { cpu: { 'requests.cpu': CPU, pods: PODS }, memory: { 'requests.memory': MEMORY } };

import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Attack, Attempt } from './attack.ts';
import { clientOf, type Answer } from './client.ts';
import { outcomeOf, type Outcome } from './outcome.ts';
import { attacksOf, type Plan, type Report } from './plan.ts';
import { watchOwnNamespace, type ObservedState } from './sight.ts';

/** The tenants run in their own process, so that the test does not slow them down. `node main.ts plan.json`. */
const plan = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Plan;
const over = new AbortController();
const counts: Record<string, Partial<Record<Outcome, number>>> = {};
const never: string[] = [];
const others: Record<string, string> = {};

/** How long a client waits before it looks again, while there is nothing to attack. */
const NOTHING_MS = 5;

type Send = (attempt: Attempt) => Promise<Answer>;

interface Client {
  readonly attack: Attack;
  readonly kind: string;
  readonly observed: ObservedState;
  /** To each API server in turn. */
  readonly sends: readonly Send[];
}

async function attempt({ kind, observed }: Client, send: Send, tried: Attempt): Promise<void> {
  const answer = await send(tried);
  const outcome = outcomeOf(answer);
  const what = `${kind} ${tried.shape}`;
  const row = (counts[what] ??= {});
  row[outcome] = (row[outcome] ?? 0) + 1;
  if (outcome === 'other') others[what] ??= `${answer.code} ${answer.text.slice(0, 300)}`;
  if (outcome !== 'done') return;
  if (tried.never === true)
    never.push(`${new Date().toISOString()} ${observed.namespace} ${what}: ${answer.code}`);
  if (tried.undo !== undefined) await send(tried.undo);
}

async function run(client: Client): Promise<void> {
  const { attack, observed, sends } = client;
  for (let n = 0; !over.signal.aborted; n += 1) {
    const send = sends[n % sends.length];
    const attempts = attack.next(observed, n);
    if (send !== undefined) await Promise.all(attempts.map((tried) => attempt(client, send, tried)));
    const pauseMs = attempts.length === 0 ? NOTHING_MS : attack.pauseMs;
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal: over.signal }).catch(() => undefined);
  }
}

async function runTenant({ namespace, kind, kubeconfigs }: Plan['tenants'][number]): Promise<void> {
  const [kubeconfig = ''] = kubeconfigs;
  const observed = await watchOwnNamespace(connect(kubeconfig), namespace, over.signal);
  const clients = attacksOf(kind, plan).flatMap((attack) =>
    Array.from({ length: attack.clients }, () => ({
      attack,
      kind,
      observed,
      sends: kubeconfigs.map(clientOf),
    })),
  );
  await Promise.all(clients.map(run));
}

const started = performance.now();
process.once('SIGTERM', () => over.abort());
await Promise.all(plan.tenants.map(runTenant));
const report: Report = { seconds: (performance.now() - started) / 1_000, counts, never, others };
writeFileSync(plan.report, JSON.stringify(report));
process.exit(0);

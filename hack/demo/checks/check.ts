import { eventsCheck } from './events.ts';
import { CHECKS, type Case, type CheckName, type CheckResult } from './check-result.ts';
import { migrationsCheck } from './migrations.ts';
import { namespaceCheck } from './namespace.ts';
import { quotasCheck } from './quotas.ts';
import { statusCheck } from './status.ts';

const READERS: Readonly<Record<CheckName, (demoCase: Case) => Promise<string[]>>> = {
  migrations: migrationsCheck,
  quotas: quotasCheck,
  namespace: namespaceCheck,
  status: statusCheck,
  events: eventsCheck,
};

/** Reads all objects of a tenant as an administrator, by GET and LIST, and compares them. */
export async function check(demoCase: Case): Promise<CheckResult[]> {
  const { namespace } = demoCase.tenant;
  return Promise.all(
    CHECKS.map(async (name) => ({ namespace, check: name, wrong: await READERS[name](demoCase) })),
  );
}

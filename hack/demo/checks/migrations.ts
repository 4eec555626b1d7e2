import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { FULL_MIGRATIONS, LAUNCHER_PODS } from '../../../test/cluster/kubevirt/objects/objects.ts';
import { migrationFor, migrationOf } from '../tenant.ts';
import { unless, type Case } from './check-result.ts';

/** Checks that each migration got its target pod and succeeded; or waits without one; or is gone, and never had one. */
export async function migrationsCheck({ tenant, kind, admin }: Case): Promise<string[]> {
  const { namespace, vms } = tenant;
  const { items: pods } = await admin.list(LAUNCHER_PODS, {
    namespace,
    labelSelector: KUBEVIRT.migrationJobUID,
  });
  const { items: migrations } = await admin.list(FULL_MIGRATIONS, { namespace });
  return vms.flatMap((vm) => {
    const migration = migrationFor(vm, migrations);
    const name = migration?.metadata.name ?? migrationOf(vm);
    const phase = migration?.status?.phase ?? 'gone';
    const uid = migration?.metadata.uid;
    const own = pods.filter(({ metadata }) => metadata.labels?.[KUBEVIRT.migrationJobUID] === uid);
    const running = own.filter(({ status }) => status?.phase === 'Running');
    // The uid of a deleted migration is unknown, so no pod of the namespace may have a migration's uid.
    const isRight =
      WANTED[kind] === 'Succeeded' ? own.length === 1 && running.length === 1 : pods.length === 0;
    const targets = pods
      .map(({ metadata, status }) => `${metadata.name} (${status?.phase ?? ''})`)
      .join(', ');
    return [
      ...unless(phase === WANTED[kind], `${name} is ${phase}, not ${WANTED[kind]}`),
      ...unless(isRight, `${name}: the target pods here are ${targets || 'none'}`),
    ];
  });
}

const WANTED = {
  through: 'Succeeded',
  notEnough: 'Pending',
  cancelled: 'gone',
  drain: 'Succeeded',
  upgrade: 'Succeeded',
} as const;

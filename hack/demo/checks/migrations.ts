import { KUBEVIRT } from '../../../functions/domain/names.ts';
import { ignoreNotFound } from '../../../functions/cluster/snapshot.ts';
import { FULL_MIGRATIONS, LAUNCHER_PODS } from '../../../test/cluster/kubevirt/objects.ts';
import { migrationOf } from '../tenant.ts';
import { unless, type Case } from './check-result.ts';

/** Checks that each migration got its target pod and succeeded; or waits without one; or is gone, and never had one. */
export async function migrationsCheck({ tenant, kind, admin }: Case): Promise<string[]> {
  const { namespace, vms } = tenant;
  const { items: pods } = await admin.list(LAUNCHER_PODS, {
    namespace,
    labelSelector: KUBEVIRT.migrationJobUID,
  });
  const found = await Promise.all(
    vms.map(async (vm) => {
      const name = migrationOf(vm);
      return { name, read: await ignoreNotFound(admin.get(FULL_MIGRATIONS, { namespace, name })) };
    }),
  );
  return found.flatMap(({ name, read }) => {
    const phase = read?.object.status?.phase ?? 'gone';
    const uid = read?.object.metadata.uid;
    const own = pods.filter(({ metadata }) => metadata.labels?.[KUBEVIRT.migrationJobUID] === uid);
    const running = own.filter(({ status }) => status?.phase === 'Running');
    // The uid of a deleted migration is unknown, so no pod of the namespace may have a migration's uid.
    const isRight = kind === 'through' ? own.length === 1 && running.length === 1 : pods.length === 0;
    const targets = pods
      .map(({ metadata, status }) => `${metadata.name} (${status?.phase ?? ''})`)
      .join(', ');
    return [
      ...unless(phase === WANTED[kind], `${name} is ${phase}, not ${WANTED[kind]}`),
      ...unless(isRight, `${name}: the target pods here are ${targets || 'none'}`),
    ];
  });
}

const WANTED = { through: 'Succeeded', notEnough: 'Pending', cancelled: 'gone' } as const;

import { createQuota, hard, metadata, type Body, type Step } from '../steps.ts';

/** A small history, named by the fact that it shows. */
export interface History {
  readonly about: string;
  readonly fact: string;
  readonly steps: readonly Step[];
}

export const histories = (about: string, table: Readonly<Record<string, readonly Step[]>>): History[] =>
  Object.entries(table).map(([fact, steps]) => ({ about, fact, steps }));

export const QUOTA = createQuota('quota', { pods: '5' }, { keep: 'quota' });

export const status =
  (different: object) =>
  (object: Body): Body => ({ ...object, status: different });

export const bothParts = (object: Body): Body =>
  hard({ pods: '9' })(
    status({ hard: { pods: '7' }, used: { pods: '3' } })(metadata({ labels: { by: 'status' } })(object)),
  );

export function vmmrq(name: string, cpu: string, more: Body = {}): Body {
  return {
    ...more,
    metadata: { name, ...more.metadata },
    spec: { additionalMigrationResources: { 'requests.cpu': cpu } },
  };
}

export function migration(name: string): Body {
  return {
    metadata: { name, finalizers: ['kubevirt.io/migrationJobFinalize'] },
    spec: { vmiName: 'vm0' },
    status: { phase: 'Running' },
  };
}

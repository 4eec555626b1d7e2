import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { describeFailure } from '../cluster/failure.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { endOf, type FollowedKind } from './kind.ts';
import { ProgressScreen } from './screen.ts';

/** Shows these objects until each has ended. Rejects with a PluginError when one is deleted before. */
export async function untilEnded<T extends KubernetesObject>(
  followed: readonly T[],
  kind: FollowedKind<T>,
  { cluster, terminal }: { readonly cluster: ApiServer; readonly terminal: Terminal },
): Promise<'completed' | 'failed'> {
  const screen = new ProgressScreen(terminal, kind);
  const { promise, resolve, reject } = Promise.withResolvers<'completed' | 'failed'>();
  const latest = new Map(followed.map((object) => [object.metadata.uid, object]));
  const look = (changed: readonly T[]): void => {
    for (const object of changed) {
      if (latest.has(object.metadata.uid)) latest.set(object.metadata.uid, object);
    }
    const objects = [...latest.values()];
    screen.show(objects);
    const end = endOf(objects, kind);
    if (end !== undefined) resolve(end);
  };
  const gone = ({ metadata }: T): void => {
    const known = latest.get(metadata.uid);
    // An object that had ended was only cleared away.
    if (known !== undefined && kind.isOpen(known)) reject(new PluginError(`${metadata.name} was deleted`));
  };
  const ending = new AbortController();
  const { type, where } = kind;
  void follow(
    cluster,
    { type, where, signal: ending.signal },
    {
      onList: (all) => {
        const present = new Set(all.map(({ metadata }) => metadata.uid));
        for (const object of latest.values()) if (!present.has(object.metadata.uid)) gone(object);
        look(all);
      },
      onChange: (object) => look([object]),
      onGone: gone,
      onError: (error) => terminal.warn(`watching again: ${describeFailure(error) ?? describeError(error)}`),
    },
  );
  try {
    return await promise;
  } finally {
    ending.abort();
  }
}

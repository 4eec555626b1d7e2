import { LABEL, SOURCE_EVENT } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { MIGRATIONS, RESOURCE_QUOTAS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import type { Event } from './broker.ts';
import type { Change, Store } from './model/store.ts';

type Verb = keyof typeof SOURCE_EVENT;

/** The adapter of the ApiServerSource (sources/): an event for each change that it sees, none for what it missed. */
export class Source {
  isDown = false;
  readonly #publish: (event: Event) => void;
  #sent = 0;

  constructor(store: Store, publish: (event: Event) => void) {
    this.#publish = publish;
    store.onChange((change) => this.#see(change));
  }

  #see({ type, kind, before, object }: Change): void {
    if (this.isDown) return;
    const verb =
      kind === RESOURCE_QUOTAS.kind
        ? selectedVerb(before, type === 'DELETED' ? undefined : object)
        : VERB[type];
    if (verb === undefined || ![RESOURCE_QUOTAS, MIGRATIONS, VMMRQS].some((watched) => watched.kind === kind))
      return;
    const { name, namespace = '' } = object.metadata;
    this.#sent += 1;
    const id = `source-${String(this.#sent)}`;
    const attributes = {
      specversion: '1.0',
      id,
      type: SOURCE_EVENT[verb],
      source: 'https://model',
      kind,
      name,
      namespace,
      data: object,
    };
    this.#publish(attributes as unknown as Event);
  }
}

const VERB: Readonly<Record<Change['type'], Verb>> = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' };

const isSelected = (quota: KubernetesObject | undefined): boolean =>
  quota?.metadata.labels?.[LABEL.raised] === 'true';

/** With a selector: what begins to match is added, what matches no more is deleted (facts/knative.md §0). */
function selectedVerb(
  before: KubernetesObject | undefined,
  now: KubernetesObject | undefined,
): Verb | undefined {
  const [was, is] = [isSelected(before), isSelected(now)];
  if (was) return is ? 'update' : 'delete';
  return is ? 'add' : undefined;
}

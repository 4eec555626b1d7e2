import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseApiServerSource } from '../../cluster/eventing/manifests.ts';
import { CHANGES, streamsOf } from '../../cluster/eventing/source.ts';
import { sourceAttributes } from '../../cluster/eventing/sourceevent.ts';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { Event } from './broker.ts';
import { selects } from '../model/selectors.ts';
import type { Change, Store } from '../model/store.ts';
import { eventOf } from '../model/watches.ts';

const manifest = parse(
  readFileSync(new URL('../../../sources/apiserversource.yaml', import.meta.url), 'utf8'),
) as {
  metadata: object;
};
const SOURCE = parseApiServerSource({
  ...manifest,
  metadata: { ...manifest.metadata, namespace: SYSTEM_NAMESPACE },
});
const STREAMS = streamsOf(SOURCE, []).map((stream) => ({
  stream,
  selects: selects(stream.type.kind, stream.where),
}));

/** The adapter of the ApiServerSource (sources/): it sends an event for each change that it sees, and none for a missed one. */
export class Source {
  isDown = false;
  readonly #publish: (event: Event) => void;
  #sent = 0;

  constructor(store: Store, publish: (event: Event) => void) {
    this.#publish = publish;
    store.onChange((change) => this.#see(change));
  }

  #see(change: Change): void {
    if (this.isDown) return;
    const watched = STREAMS.find(({ stream }) => stream.type.kind === change.kind);
    const seen = watched === undefined ? undefined : eventOf(change, watched.selects);
    const type = CHANGES[seen?.type ?? ''];
    if (watched === undefined || seen === undefined || type === undefined) return;
    const { stream } = watched;
    const { object } = seen;
    this.#sent += 1;
    const event = {
      id: `source-${String(this.#sent)}`,
      ...sourceAttributes(SOURCE, 'https://model', { change: type, stream, object }),
      data: object,
    };
    this.#publish(event as unknown as Event);
  }
}

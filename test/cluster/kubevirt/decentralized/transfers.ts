import type { CrossStep, TransferState } from './node-steps.ts';

interface Transfer {
  readonly state: TransferState;
  /** UIDs of the launchers that have joined. */
  readonly launchers: Set<string>;
}

/** What comes of it in each state; left out: it is too late. */
const NEXT: Partial<Record<TransferState, Partial<Record<TransferState, TransferState>>>> = {
  running: { 'post-copy': 'post-copy', done: 'done', broken: 'broken', aborted: 'aborted', failed: 'failed' },
  'post-copy': { done: 'done', broken: 'lost' },
};

/**
 * The guests on their way between clusters, which libvirt at both ends knows whatever the controllers know. The nodes of all
 * clusters share one object. By the UID of the target's VMIM.
 */
export class Transfers {
  /** See Handler. */
  keepsSides: boolean;
  readonly #transfers = new Map<string, Transfer>();
  readonly #listeners: (() => void)[] = [];
  readonly #lost = new Set<string>();
  readonly #held = new Set<CrossStep>();

  constructor({ keepsSides = false }: { readonly keepsSides?: boolean | undefined } = {}) {
    this.keepsSides = keepsSides;
  }

  /** Called after every change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  stateOf(id: string): TransferState | undefined {
    return this.#transfers.get(id)?.state;
  }

  /** From now on no node takes this step, until the result is called: an order of events that no slow machine changes. */
  hold(step: CrossStep): () => void {
    this.#held.add(step);
    return () => {
      this.#held.delete(step);
      this.#tell();
    };
  }

  isHeld(step: CrossStep): boolean {
    return this.#held.has(step);
  }

  /** `launcher`: one of its ends. The first end begins it. */
  join(id: string, launcher: string): void {
    const transfer: Transfer = this.#transfers.get(id) ?? { state: 'running', launchers: new Set() };
    const isKnown = transfer.launchers.has(launcher);
    transfer.launchers.add(launcher);
    this.#transfers.set(id, transfer);
    if (this.#lost.has(launcher) || this.#lost.has(id)) this.#end(id, 'broken');
    else if (!isKnown) this.#tell();
  }

  finish(id: string): void {
    this.#end(id, 'done');
  }

  /** False: it has ended before. */
  goPostCopy(id: string): boolean {
    this.#end(id, 'post-copy');
    return ['post-copy', 'lost'].includes(this.stateOf(id) ?? '');
  }

  /** False: it is too late. */
  abort(id: string): boolean {
    this.#end(id, 'aborted');
    return this.stateOf(id) === 'aborted';
  }

  /** By itself, such as one that makes no progress. Its guest stays. */
  fail(id: string): void {
    this.#end(id, 'failed');
  }

  /** Those that are under way. */
  running(): string[] {
    return [...this.#transfers].flatMap(([id, { state }]) => (state === 'running' ? [id] : []));
  }

  /** A launcher has ended: what it was sending or receiving is lost. `receives`: the VMIM that it was made for, as known from its beginning. */
  lose(launcher: string, receives = launcher): void {
    this.#lost.add(launcher).add(receives);
    for (const [id, { launchers }] of this.#transfers)
      if (id === receives || launchers.has(launcher)) this.#end(id, 'broken');
  }

  #end(id: string, state: TransferState): void {
    const transfer = this.#transfers.get(id) ?? { state: 'running', launchers: new Set() };
    const next = NEXT[transfer.state]?.[state];
    if (next === undefined) return;
    this.#transfers.set(id, { ...transfer, state: next });
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

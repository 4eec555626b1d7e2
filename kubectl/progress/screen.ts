import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { FollowedKind } from './kind.ts';

/** Shows objects as they change: in place on a terminal, else one line for each change. */
export class ProgressScreen<T extends KubernetesObject> {
  readonly #terminal: Terminal;
  readonly #kind: Pick<FollowedKind<T>, 'render' | 'plainLine'>;
  /** The last line of each object, by name. */
  readonly #printed = new Map<string, string>();

  constructor(terminal: Terminal, kind: Pick<FollowedKind<T>, 'render' | 'plainLine'>) {
    this.#terminal = terminal;
    this.#kind = kind;
  }

  show(objects: readonly T[]): void {
    if (this.#terminal.isTerminal) this.#redraw(objects);
    else for (const object of objects) this.#printChange(object);
  }

  #redraw(objects: readonly T[]): void {
    const { paint, columns } = this.#terminal;
    this.#terminal.redraw(objects.flatMap((object) => this.#kind.render(object, { paint, columns })));
  }

  #printChange(object: T): void {
    const { name } = object.metadata;
    const line = this.#kind.plainLine(object);
    if (this.#printed.get(name) === line) return;
    this.#printed.set(name, line);
    this.#terminal.print(line);
  }
}

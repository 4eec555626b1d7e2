import type { MaintenanceProgress } from '../../functions/domain/progress/progress-object.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plainLine, renderProgress } from './render.ts';

/** Shows objects as they change: in place on a terminal, else one line for each change. */
export class ProgressScreen {
  readonly #terminal: Terminal;
  /** The last line of each object, by name. */
  readonly #printed = new Map<string, string>();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(progresses: readonly MaintenanceProgress[]): void {
    if (this.#terminal.isTerminal) this.#redraw(progresses);
    else for (const progress of progresses) this.#printChange(progress);
  }

  #redraw(progresses: readonly MaintenanceProgress[]): void {
    const { paint, columns } = this.#terminal;
    this.#terminal.redraw(progresses.flatMap((progress) => renderProgress(progress, { paint, columns })));
  }

  #printChange(progress: MaintenanceProgress): void {
    const { name } = progress.metadata;
    const line = plainLine(progress);
    if (this.#printed.get(name) === line) return;
    this.#printed.set(name, line);
    this.#terminal.print(line);
  }
}

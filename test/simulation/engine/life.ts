/** Whether a process, or its handling of one event, still lives. After its end its promises never resolve. */
export class Life {
  #isAlive = true;
  readonly #listeners: (() => void)[] = [];

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** As by kill -9. */
  end(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    for (const onLifeEnd of this.#listeners) onLifeEnd();
  }

  onEnd(onLifeEnd: () => void): void {
    this.#listeners.push(onLifeEnd);
  }
}

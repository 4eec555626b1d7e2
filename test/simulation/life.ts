/** Whether a process, or one handling of an event in it, is still there. What it waits for after its end never comes. */
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

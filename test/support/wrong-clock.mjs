/**
 * Loaded before a process of the project (node --import): its Date is wrong by the hours in WRONG_CLOCKS (JSON) for its
 * STEP, or for `guard` in a process without one. Timers and TLS keep the right time.
 */
const hours = JSON.parse(process.env.WRONG_CLOCKS ?? '{}')[process.env.STEP ?? 'guard'] ?? 0;
const RightDate = Date;
const now = () => RightDate.now() + hours * 3_600_000;

globalThis.Date = class Date extends RightDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }

  static now() {
    return now();
  }
};

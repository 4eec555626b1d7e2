/**
 * Loaded before a process of ours (node --import): its Date is wrong by the hours that WRONG_CLOCKS (JSON) says for its
 * STEP; for a process without one, for `guard`. Timers and TLS keep the right time.
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

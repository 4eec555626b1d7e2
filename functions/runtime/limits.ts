/** The longest that a lock may live, seconds, whoever took it (docs/adr/0005). */
export const MAX_LOCK_SECONDS = 60;

/** Maximum lifetime of any lock, seconds (docs/adr/0005). */
export const MAX_LOCK_SECONDS = 60;
/** Lifetime of a lock by default, seconds. */
export const DEFAULT_LOCK_SECONDS = 15;

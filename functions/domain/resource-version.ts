/** Compares two resource versions: whole numbers that count up (Kubernetes KEP-5504). */
export const isLater = (one: string, other: string): boolean =>
  one.length === other.length ? one > other : one.length > other.length;

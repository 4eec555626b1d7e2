/** metav1.Time: RFC 3339 in whole seconds. */
export const toTime = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

/** Go's time.String(), as KubeVirt writes it into one annotation: "2026-11-21 03:49:56 +0000 UTC". */
export const toGoTime = (date: Date): string =>
  `${toTime(date).replace('T', ' ').replace('Z', '')} +0000 UTC`;

/**
 * The limit for every request to the guard. A review's object and oldObject are at most 1.5 MiB each in etcd, and JSON in JSON
 * may double them; an event has one of them.
 */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;

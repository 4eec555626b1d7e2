import * as z from '../runtime/zod.ts';

/**
 * The names that Kubernetes gives to objects (RFC 1123, as in apimachinery's validation). A name that arrives from outside becomes a part of
 * an API path: any other text, such as `..`, would read something else.
 */

const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';

/** A namespace's name, and those of VMs: at most 63 characters. */
export const DNS_LABEL = new RegExp(`^(?=.{1,63}$)${LABEL}$`);
/** Any other object's name: labels with dots between them, at most 253 characters. */
export const DNS_SUBDOMAIN = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);

export const dnsLabel = z.string().check(z.regex(DNS_LABEL));
export const dnsSubdomain = z.string().check(z.regex(DNS_SUBDOMAIN));

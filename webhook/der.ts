/**
 * The part of DER (ITU-T X.690 §10) that a certificate needs, to write only: node:crypto makes keys and signatures and
 * reads certificates, but makes none.
 */

export const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, Buffer.concat(parts));
export const set = (...parts: readonly Buffer[]): Buffer => element(0x31, Buffer.concat(parts));
/** OCTET STRING. */
export const bytes = (content: Buffer): Buffer => element(0x04, content);
/** UTF8String. */
export const text = (content: string): Buffer => element(0x0c, Buffer.from(content, 'utf8'));
export const bool = (value: boolean): Buffer => element(0x01, Buffer.from([value ? 0xff : 0]));
/** INTEGER, its content as it is: big-endian, two's complement, as short as can be. */
export const integer = (content: Buffer): Buffer => element(0x02, content);
/** BIT STRING; the last `unused` bits of the content do not count. */
export const bits = (content: Buffer, unused: number): Buffer =>
  element(0x03, Buffer.concat([Buffer.from([unused]), content]));
/** [tag] EXPLICIT: wraps a whole element. */
export const explicit = (tag: number, content: Buffer): Buffer => element(0xa0 | tag, content);
/** [tag] IMPLICIT: in place of a simple element's own tag. */
export const implicit = (tag: number, content: Buffer): Buffer => element(0x80 | tag, content);

/** OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Whole seconds; UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280 §4.1.2.5). */
export function time(date: Date): Buffer {
  const generalized = `${date.toISOString().slice(0, 19).replaceAll(/[-T:]/g, '')}Z`;
  return date.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(generalized.slice(2), 'ascii'))
    : element(0x18, Buffer.from(generalized, 'ascii'));
}

function element(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content)]), content]);
}

/** Up to 127 in one byte, else the number of bytes that follow. */
function lengthOf({ length }: Buffer): number[] {
  if (length < 0x80) return [length];
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) digits.unshift(rest & 0xff);
  return [0x80 | digits.length, ...digits];
}

/** Seven bits a byte, all but the last with the high bit. */
function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

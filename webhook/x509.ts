import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { bits, bool, bytes, explicit, implicit, integer, oid, sequence, set, text, time } from './der.ts';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Common name of every authority we make; a serving certificate names it as its issuer. */
export const AUTHORITY_NAME = 'mtq-guard-ca';

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;
const CRITICAL = true;
/** keyUsage is a string of bits, the first is the highest (RFC 5280 §4.2.1.3). */
const SIGN_CERTIFICATES_AND_CRLS = bits(Buffer.from([0b0000_0110]), 1);
const DIGITAL_SIGNATURE = bits(Buffer.from([0b1000_0000]), 7);
const SIGNATURE_ALGORITHM = sequence(oid(OID.ecdsaWithSha256));

/** A self-signed authority (ECDSA P-256) that may sign serving certificates and nothing below them. */
export function issueAuthority(validity: Validity): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension(OID.basicConstraints, sequence(bool(true), integer(Buffer.from([0]))), CRITICAL),
    extension(OID.keyUsage, SIGN_CERTIFICATES_AND_CRLS, CRITICAL),
    extension(OID.subjectKeyIdentifier, bytes(identifierOf(publicKey))),
  ];
  const cert = certificate({ subject: AUTHORITY_NAME, publicKey, validity, extensions }, privateKey);
  return { cert, key: toPem(privateKey) };
}

/** A server's certificate (ECDSA P-256) for these DNS names, signed by an authority of `issueAuthority`. */
export function issueServing(
  names: readonly [string, ...string[]],
  validity: Validity,
  authority: KeyPair,
): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const authorityKey = createPrivateKey(authority.key);
  const dnsNames = names.map((name) => implicit(2, Buffer.from(name, 'ascii')));
  const extensions = [
    extension(OID.basicConstraints, sequence(), CRITICAL),
    extension(OID.keyUsage, DIGITAL_SIGNATURE, CRITICAL),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
    extension(OID.subjectAltName, sequence(...dnsNames)),
    extension(OID.subjectKeyIdentifier, bytes(identifierOf(publicKey))),
    // Tells authorities of the same name apart, while the bundle holds the old one and the new one.
    extension(OID.authorityKeyIdentifier, sequence(implicit(0, identifierOf(createPublicKey(authorityKey))))),
  ];
  const cert = certificate({ subject: names[0], publicKey, validity, extensions }, authorityKey);
  return { cert, key: toPem(privateKey) };
}

interface Content {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

/** Certificate and TBSCertificate of RFC 5280 §4.1, version 3. */
function certificate({ subject, publicKey, validity, extensions }: Content, signer: KeyObject): string {
  const toBeSigned = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    SIGNATURE_ALGORITHM,
    commonName(AUTHORITY_NAME),
    sequence(time(validity.notBefore), time(validity.notAfter)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions)),
  );
  const signature = sign('sha256', toBeSigned, signer);
  const der = sequence(toBeSigned, SIGNATURE_ALGORITHM, bits(signature, 0));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(oid(id), ...(critical ? [bool(true)] : []), bytes(value));

const commonName = (name: string): Buffer => sequence(set(sequence(oid(OID.commonName), text(name))));

/** 16 random bytes; a first byte of 01xxxxxx makes it positive and its shortest form. */
function serialNumber(): Buffer {
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  return serial;
}

/** The first 160 bits of the hash of the public point (RFC 7093 §2, method 1): the last 65 bytes of a P-256 SPKI. */
function identifierOf(publicKey: KeyObject): Buffer {
  const point = publicKey.export({ type: 'spki', format: 'der' }).subarray(-65);
  return createHash('sha256').update(point).digest().subarray(0, 20);
}

const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import * as asn1 from '@peculiar/asn1-x509';
import type { KeyPair } from '../../functions/server/serve.ts';
import { AUTHORITY_NAME } from './renewal.ts';

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const COMMON_NAME = '2.5.4.3';
const ECDSA_WITH_SHA256 = new asn1.AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });
const CRITICAL = true;

/** Issues a self-signed authority (ECDSA P-256) that may sign only leaf certificates. */
export function issueAuthority(validity: Validity): KeyPair {
  const { publicKey, privateKey } = newKeys();
  const extensions = [
    extension(
      asn1.id_ce_basicConstraints,
      new asn1.BasicConstraints({ cA: true, pathLenConstraint: 0 }),
      CRITICAL,
    ),
    extension(
      asn1.id_ce_keyUsage,
      new asn1.KeyUsage(asn1.KeyUsageFlags.keyCertSign | asn1.KeyUsageFlags.cRLSign),
      CRITICAL,
    ),
    extension(asn1.id_ce_subjectKeyIdentifier, new asn1.SubjectKeyIdentifier(identifierOf(publicKey))),
  ];
  const cert = certificate({ subject: AUTHORITY_NAME, publicKey, validity, extensions }, privateKey);
  return { cert, key: toPem(privateKey) };
}

/** Issues a serving certificate (ECDSA P-256) for these DNS names, signed by an authority of `issueAuthority`. */
export function issueServing(
  names: readonly [string, ...string[]],
  validity: Validity,
  authority: KeyPair,
  usage: string = asn1.id_kp_serverAuth,
): KeyPair {
  const { publicKey, privateKey } = newKeys();
  const authorityKey = createPrivateKey(authority.key);
  const dnsNames = names.map((dNSName) => new asn1.GeneralName({ dNSName }));
  // Distinguishes authorities of the same name, while the bundle holds the old one and the new one.
  const keyIdentifier = new asn1.KeyIdentifier(identifierOf(createPublicKey(authorityKey)));
  const extensions = [
    extension(asn1.id_ce_basicConstraints, new asn1.BasicConstraints(), CRITICAL),
    extension(asn1.id_ce_keyUsage, new asn1.KeyUsage(asn1.KeyUsageFlags.digitalSignature), CRITICAL),
    extension(asn1.id_ce_extKeyUsage, new asn1.ExtendedKeyUsage([usage])),
    extension(asn1.id_ce_subjectAltName, new asn1.SubjectAlternativeName(dnsNames)),
    extension(asn1.id_ce_subjectKeyIdentifier, new asn1.SubjectKeyIdentifier(identifierOf(publicKey))),
    extension(asn1.id_ce_authorityKeyIdentifier, new asn1.AuthorityKeyIdentifier({ keyIdentifier })),
  ];
  const cert = certificate({ subject: names[0], publicKey, validity, extensions }, authorityKey);
  return { cert, key: toPem(privateKey) };
}

interface Content {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: asn1.Extension[];
}

function certificate({ subject, publicKey, validity, extensions }: Content, signer: KeyObject): string {
  // Copies, because under Jest the library rejects node:crypto's dates (another realm's Date).
  const [notBefore, notAfter] = [new Date(validity.notBefore), new Date(validity.notAfter)];
  const tbsCertificate = new asn1.TBSCertificate({
    version: asn1.Version.v3,
    serialNumber: serialNumber(),
    signature: ECDSA_WITH_SHA256,
    issuer: commonName(AUTHORITY_NAME),
    validity: new asn1.Validity({ notBefore, notAfter }),
    subject: commonName(subject),
    subjectPublicKeyInfo: AsnConvert.parse(spkiOf(publicKey), asn1.SubjectPublicKeyInfo),
    extensions: new asn1.Extensions(extensions),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), signer);
  const signed = new asn1.Certificate({
    tbsCertificate,
    signatureAlgorithm: ECDSA_WITH_SHA256,
    signatureValue: new Uint8Array(signature).buffer,
  });
  return new X509Certificate(Buffer.from(AsnConvert.serialize(signed))).toString();
}

const extension = (extnID: string, value: unknown, critical = false): asn1.Extension =>
  new asn1.Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

function commonName(name: string): asn1.Name {
  const value = new asn1.AttributeValue({ utf8String: name });
  return new asn1.Name([
    new asn1.RelativeDistinguishedName([new asn1.AttributeTypeAndValue({ type: COMMON_NAME, value })]),
  ]);
}

/** 120 random bits; the first byte makes it positive and its shortest form. */
const serialNumber = (): ArrayBuffer => new Uint8Array([0x40, ...randomBytes(15)]).buffer;

const newKeys = (): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

const spkiOf = (publicKey: KeyObject): Buffer => publicKey.export({ type: 'spki', format: 'der' });

/** The first 160 bits of the hash of the public point (RFC 7093 §2, method 1): the last 65 bytes of a P-256 SPKI. */
const identifierOf = (publicKey: KeyObject): Buffer =>
  createHash('sha256').update(spkiOf(publicKey).subarray(-65)).digest().subarray(0, 20);

const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

import fc from 'fast-check';
import { aReview, TENANT, type Review } from './reviews.ts';

/** Malformed AdmissionReviews: each one is a valid review with exactly one defect. */
export interface Malformed {
  readonly how: string;
  /** One character for each byte (latin1), so that a counterexample is readable. */
  readonly body: string;
}

type Document = Record<string, unknown>;

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';

/** The fields of admission.k8s.io/v1. */
const TYPES = {
  text: isText,
  object: isDocument,
  flag: (value: unknown) => typeof value === 'boolean',
  texts: (value: unknown) => Array.isArray(value) && value.every(isText),
  map: (value: unknown) => isDocument(value) && Object.values(value).every(isText),
} satisfies Record<string, (value: unknown) => boolean>;
type Type = keyof typeof TYPES;

/** Dotted path in the document. */
type FieldPaths = readonly (readonly [path: string, Type])[];

/** The objects of this operation. */
const objectsOf = ({ request }: Review): string[] =>
  (['object', 'oldObject'] as const).filter((which) => request[which] !== null);

/** Required fields. */
const needed = (review: Review): FieldPaths => [
  ['apiVersion', 'text'],
  ['kind', 'text'],
  ['request', 'object'],
  ['request.uid', 'text'],
  ['request.operation', 'text'],
  ...(['kind', 'resource'] as const).flatMap((which): FieldPaths => [
    [`request.${which}`, 'object'],
    [`request.${which}.group`, 'text'],
    [`request.${which}.version`, 'text'],
    [`request.${which}.${which}`, 'text'],
  ]),
  ['request.userInfo', 'object'],
  ['request.userInfo.username', 'text'],
  // As often as all other fields together, because these decide.
  ...Array.from({ length: 6 }, () => objectsOf(review))
    .flat()
    .flatMap((which): FieldPaths => [
      [`request.${which}`, 'object'],
      [`request.${which}.metadata`, 'object'],
    ]),
];

/** Optional fields, and their types. */
const optional = (review: Review): FieldPaths => [
  ['request.subResource', 'text'],
  ['request.name', 'text'],
  ['request.namespace', 'text'],
  ['request.userInfo.groups', 'texts'],
  ['request.dryRun', 'flag'],
  ...objectsOf(review).flatMap((which): FieldPaths => [
    [`request.${which}.metadata.labels`, 'map'],
    [`request.${which}.metadata.annotations`, 'map'],
  ]),
];

/** Values of a wrong type for a field. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, '', 0, -1, 1e308, true, [], {}, [[]], 'CREATE', TENANT),
  fc.constantFrom<unknown>({ a: 1 }, { a: null }, [1], [null], { length: 1 }, { metadata: {} }),
  fc.constantFrom<unknown>(
    { constructor: 1, toString: 2, hasOwnProperty: null },
    JSON.parse('{"__proto__": 1}'),
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A word that is invalid for this field. */
const aWordFor = {
  apiVersion: fc.constantFrom(
    '',
    'v1',
    'admission.k8s.io/v1beta1',
    'admission.k8s.io/v1 ',
    'AdmissionReview',
  ),
  kind: fc.constantFrom('', 'admissionreview', 'AdmissionReviewList', 'Pod'),
  'request.uid': fc.constant(''),
  'request.operation': fc.constantFrom('', 'create', 'CREATE ', 'PATCH', '*', 'DELETECOLLECTION'),
} as const;

const MISSPELLINGS: readonly ((key: string) => string)[] = [
  // Go's decoder ignores the case of a name; the guard's decoder does not.
  (key) => key.toUpperCase(),
  (key) => `${key} `,
  (key) => `_${key}`,
  () => '__proto__',
];

type Change = (document: Document) => void;

const put =
  (path: string, value: unknown): Change =>
  (document) => {
    const [parent, key] = parentOf(document, path);
    parent[key] = value;
  };

const leaveOut =
  (path: string): Change =>
  (document) => {
    const [parent, key] = parentOf(document, path);
    Reflect.deleteProperty(parent, key);
  };

const misspell =
  (path: string, misspelling: (key: string) => string): Change =>
  (document) => {
    const [parent, key] = parentOf(document, path);
    const name = misspelling(key);
    const as = { value: parent[key], enumerable: true, configurable: true, writable: true };
    Object.defineProperty(parent, name, as);
    Reflect.deleteProperty(parent, key);
  };

function parentOf(document: Document, path: string): [parent: Document, key: string] {
  const keys = path.split('.');
  const key = keys.pop() ?? '';
  const parent = keys.reduce<unknown>(
    (inner, name) => (isDocument(inner) ? inner[name] : undefined),
    document,
  );
  if (!isDocument(parent)) throw new Error(`a review has no ${path}`);
  return [parent, key];
}

const oneOf = <T>(all: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...all);

/** Defects in the content of a review. */
const CHANGES: Record<string, (review: Review) => fc.Arbitrary<Change>> = {
  'left out': (review) => oneOf(needed(review)).map(([path]) => leaveOut(path)),
  misspelt: (review) =>
    fc.tuple(oneOf(needed(review)), oneOf(MISSPELLINGS)).map(([[path], how]) => misspell(path, how)),
  'of another type': (review) =>
    oneOf([...needed(review), ...optional(review)]).chain(([path, type]) =>
      anything.filter((value) => !TYPES[type](value)).map((value) => put(path, value)),
    ),
  'of another word': () =>
    oneOf(Object.entries(aWordFor)).chain(([path, word]) => word.map((text) => put(path, text))),
  // One too few, or one too many.
  'the objects of another operation': ({ request }) =>
    oneOf(['CREATE', 'UPDATE', 'DELETE'].filter((other) => other !== request.operation)).map((other) =>
      put('request.operation', other),
    ),
};

/** Defects in the encoding: none of the results is JSON. */
const WRITINGS: Record<string, (text: Buffer) => fc.Arbitrary<Buffer>> = {
  'cut off': (text) => fc.nat({ max: text.length - 1 }).map((length) => text.subarray(0, length)),
  'with more after it': (text) =>
    oneOf(['}', ',', 'null', '{}', text.toString()]).map((more) => Buffer.concat([text, Buffer.from(more)])),
  'with a control character': (text) =>
    fc
      .tuple(fc.nat({ max: text.length }), fc.nat({ max: 8 }))
      .map(([at, byte]) => Buffer.concat([text.subarray(0, at), Buffer.from([byte]), text.subarray(at)])),
  'any bytes, and a zero': () =>
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.concat([bytes, Buffer.from([0])])),
};

const textOf = (document: unknown): Buffer => Buffer.from(JSON.stringify(document));

const changed = (how: string, of: (review: Review) => fc.Arbitrary<Change>): fc.Arbitrary<Malformed> =>
  aReview.chain((review) =>
    of(review).map((change) => {
      const document = structuredClone<Document>(review);
      change(document);
      return { how, body: textOf(document).toString('latin1') };
    }),
  );

const written = (how: string, of: (text: Buffer) => fc.Arbitrary<Buffer>): fc.Arbitrary<Malformed> =>
  aReview.chain((review) => of(textOf(review)).map((body) => ({ how, body: body.toString('latin1') })));

/** Any JSON without an apiVersion. */
const somethingElse: fc.Arbitrary<Malformed> = fc
  .jsonValue()
  .filter((value) => !isDocument(value) || !Object.hasOwn(value, 'apiVersion'))
  .map((value) => ({ how: 'something else', body: textOf(value).toString('latin1') }));

export const aMalformedBody: fc.Arbitrary<Malformed> = fc.oneof(
  ...Object.entries(CHANGES).map(([how, of]) => changed(how, of)),
  ...Object.entries(WRITINGS).map(([how, of]) => written(how, of)),
  somethingElse,
);

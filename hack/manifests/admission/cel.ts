/** Texts in CEL, the language of admission policies and matchConditions. It ignores white space between words. */

/** A string literal. */
export const text = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;

export const list = (values: readonly string[]): string => `[${values.map(text).join(', ')}]`;

/** A field of `metadata`, as an optional. `of`: object, oldObject, params or namespaceObject. */
export const annotation = (of: string, key: string): string =>
  `${of}.metadata[?'annotations'][?${text(key)}]`;
export const label = (of: string, key: string): string => `${of}.metadata[?'labels'][?${text(key)}]`;

/** The same field of oldObject, which a CREATE does not have. */
export const oldAnnotation = (key: string): string => orNone(annotation('oldObject', key));
export const orNone = (expression: string): string => `(oldObject == null ? optional.none() : ${expression})`;

/** `namespaceObject` has its own CEL type: its maps are fields. */
export const namespaceAnnotation = (key: string): string =>
  `namespaceObject.metadata.?annotations[?${text(key)}]`;
export const namespaceLabel = (key: string): string => `namespaceObject.metadata.?labels[?${text(key)}]`;

/** The expression on one line. Our texts never have two spaces in a row. */
export const oneLine = (expression: string): string => expression.trim().replace(/\s+/g, ' ');

const HOLE = /⟦(.*?)⟧/;

/** A placeholder for the value of an expression, so that TypeScript and CEL share one text. */
export const hole = (expression: string): string => `⟦${expression}⟧`;

/** The request, for the texts of webhook/admission/messages.ts. */
export const REQUEST_HOLES = {
  operation: hole('request.operation'),
  resource: hole('request.resource.resource'),
  namespace: hole('request.namespace'),
} as const;

/** Converts a text with placeholders to an expression. */
export function withHoles(words: string): string {
  const parts = words.split(HOLE).map((part, index) => (index % 2 === 0 ? text(part) : part));
  return parts.filter((part) => part !== "''").join(' + ');
}

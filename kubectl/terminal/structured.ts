import { Document, visit } from 'yaml';
import { GROUP } from '../../functions/domain/names.ts';
import { UNSHOWN } from '../../functions/domain/foreign-text.ts';

/** `-o json` and `-o yaml`, as kubectl writes them: the lines. A character that does not show is escaped, and read as itself. */
export const structured = (format: 'json' | 'yaml', value: object): string[] =>
  (format === 'json' ? JSON.stringify(value, undefined, 4) : yamlOf(value))
    .split('\n')
    .map((line) => escaped(format, line));

/** A report of the plugin as an object: programs find its shape by apiVersion and kind. */
export const reportObject = (kind: string, report: object): object => ({
  apiVersion: `plugin.${GROUP}/v1alpha1`,
  kind,
  ...report,
});

/** kubectl reads YAML 1.1, where a plain `no` is false. Escapes are read between double quotes only. */
function yamlOf(value: object): string {
  const document = new Document(value, { compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && scalar.value.search(UNSHOWN) >= 0) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ doubleQuotedAsJSON: true, lineWidth: 0 }).trimEnd();
}

/** YAML has no pairs of surrogates, and JSON nothing else. */
const escaped = (format: 'json' | 'yaml', line: string): string =>
  line.replaceAll(UNSHOWN, (one) =>
    format === 'yaml' && one.length === 2
      ? `\\U${hex(one.codePointAt(0), 8)}`
      : Array.from({ length: one.length }, (_, at) => `\\u${hex(one.charCodeAt(at), 4)}`).join(''),
  );

const hex = (value: number | undefined, digits: number): string =>
  (value ?? 0).toString(16).padStart(digits, '0');

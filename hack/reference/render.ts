import { ADVICE, NO_ACTION } from '../../functions/domain/advice.ts';
import { REASON, type Reason } from '../../functions/domain/names.ts';
import { breakGlassCommand, REFUSAL, type RefusalParts } from '../../webhook/admission/messages.ts';
import { METRIC } from '../../webhook/observability/metric-names.ts';

/** The registries of functions/domain/names.ts that docs/reference.md repeats, each under its heading. */
export const REGISTRIES = {
  ANNOTATION: 'Annotations',
  LABEL: 'Labels',
  EVENT: 'CloudEvents',
  EVENT_REASON: 'Reasons of Kubernetes Events',
  CONDITION: 'Conditions of a VirtualMachineMigrationResourceQuota',
  REASON: 'Reasons of verdicts and decisions',
  POLICY: 'ValidatingAdmissionPolicies',
} as const;
export type Registry = keyof typeof REGISTRIES;

/** The value of a name, and its sentence. */
export type Entry = readonly [value: string, sentence: string];

/** The entries of `export const <registry> = {…}` in this source: the doc comment of each name is its sentence. */
export function entriesOf(source: string, registry: string): Entry[] {
  const block =
    new RegExp(String.raw`^export const ${registry} = \{\n(.*?)^\} as const;`, 'ms').exec(source)?.[1] ?? '';
  return [...block.matchAll(/\/\*\* (.*?) \*\/\n {2}\w+: '(.*?)',/g)].map(
    ([, sentence = '', value = '']): Entry => [value, sentence],
  );
}

/** The sentence of `export const <name> = '…'` in this source. Throws where it has none of one line. */
export function sentenceOf(source: string, name: string): string {
  const [, sentence] =
    new RegExp(String.raw`^/\*\* (.*?) \*/\nexport const ${name} = '`, 'm').exec(source) ?? [];
  if (sentence === undefined) throw new Error(`${name} has no sentence`);
  return sentence;
}

/**
 * Returns docs/reference.md with its generated sections as the registries say. The introduction and the other sections stay as they
 * are, after the generated ones. `names`: the text of functions/domain/names.ts.
 */
export function renderReference(current: string, names: string): string {
  const [introduction = '', ...sections] = current.split(/^(?=## )/m);
  const generated = generatedSections(names);
  const byHand = sections.filter((section) => !generated.has(headingOf(section)));
  const texts = [...generated].map(([heading, text]) => `## ${heading}\n\n${text}\n\n`);
  return [introduction, ...texts, ...byHand].join('');
}

const headingOf = (section: string): string => /^## (.*)$/m.exec(section)?.[1] ?? '';

/** The generated sections by heading, in their order. */
export function generatedSections(names: string): ReadonlyMap<string, string> {
  const registries = Object.entries(REGISTRIES) as [Registry, string][];
  return new Map([
    ...registries.map(([registry, heading]): [string, string] => [
      heading,
      registry === 'REASON' ? reasons(entriesOf(names, registry)) : listOf(entriesOf(names, registry)),
    ]),
    ['Messages of refusals', refusals()],
    ['Metrics of the guard', listOf(Object.values(METRIC).map(({ name, help }): Entry => [name, help]))],
  ]);
}

const listOf = (entries: readonly Entry[]): string =>
  entries.map(([value, sentence]) => `- \`${value}\`: ${sentence}`).join('\n');

const isReason = (value: string): value is Reason => Object.values<string>(REASON).includes(value);

/** Each reason with its advice in italics. */
function reasons(entries: readonly Entry[]): string {
  const withAdvice = entries.map(([value, sentence]): Entry => {
    const advice = isReason(value) ? ADVICE[value] : NO_ACTION;
    return [value, advice === NO_ACTION ? sentence : `${sentence} _${advice}_`];
  });
  return `In italics what to do: a Warning or a condition with that reason ends with it.\n\n${listOf(withAdvice)}`;
}

const PLACEHOLDERS: RefusalParts = {
  operation: '<operation>',
  resource: '<resource>',
  namespace: '<namespace>',
  quota: '<quota>',
  keys: '<keys>',
  state: '<state>',
  token: '<token>',
  migrations: '<migrations>',
  until: '<time>',
};

/** The refusals, each with the policies and webhooks that refuse. The break-glass command is in docs/operations.md. */
function refusals(): string {
  const command = breakGlassCommand(PLACEHOLDERS);
  const { operation, resource, namespace } = PLACEHOLDERS;
  const request = `${operation} of ${resource} in namespace ${namespace}`;
  const lines = Object.values(REFUSAL).map(({ by, text }) => {
    const message = text(PLACEHOLDERS).replace(command, '<command>').replace(request, '<request>');
    return `- ${by.map((name) => `\`${name}\``).join(', ')}: \`${message}\``;
  });
  return `\`<request>\` is \`${request}\`.\n\n${lines.join('\n')}`;
}

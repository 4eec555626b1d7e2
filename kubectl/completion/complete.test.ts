import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Command, Option } from 'commander';
import { temporaryFolder } from '../../test/cluster/controlplane/exit.ts';
import type { Completer, Subcommand } from '../subcommand.ts';
import { complete } from './complete.ts';

/** Answers with its arguments; a session needs a kubeconfig, which no test has. */
const echo: Completer = ({ args }) => Promise.resolve([`after-${args.join('+')}`, 'vm0', 'vm1']);

const explain: Subcommand = {
  declare: () =>
    new Command('explain')
      .description('says why')
      .argument('<migration>', 'a migration')
      .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'yaml']))
      .option('-w, --watch', 'again and again'),
  completers: { migration: echo },
  run: () => Promise.resolve(0),
};
const preflight: Subcommand = {
  declare: () => new Command('preflight').argument('<task>').argument('[names...]'),
  completers: { names: echo },
  run: () => Promise.resolve(0),
};
const failing: Subcommand = {
  declare: () => new Command('failing').argument('<name>'),
  completers: { name: () => Promise.reject(new Error('no answer')) },
  run: () => Promise.resolve(0),
};
const SUBCOMMANDS = [explain, preflight, failing];

/** The kubeconfig of a cluster to which the test sends nothing. */
const KUBECONFIG = `
apiVersion: v1
kind: Config
clusters: [{ name: none, cluster: { server: 'https://127.0.0.1:1' } }]
contexts:
  - { name: one, context: { cluster: none, user: nobody } }
  - { name: two, context: { cluster: none, user: nobody, namespace: tenant } }
users: [{ name: nobody, user: {} }]
current-context: one
`;

const folder = temporaryFolder('mtq-completion-');
const file = join(folder.path, 'kubeconfig');

beforeAll(() => writeFileSync(file, KUBECONFIG));
afterAll(() => folder.remove());

const completed = (...words: string[]): Promise<string[]> => {
  const program = new Command('vmmrq')
    .option('--kubeconfig <file>', 'a file')
    .option('--context <name>', 'a context')
    .option('--cluster <name>', 'a cluster')
    .option('--user <name>', 'a user')
    .option('-n, --namespace <namespace>', 'a namespace');
  for (const { declare } of SUBCOMMANDS) program.addCommand(declare());
  return complete(program, SUBCOMMANDS, words);
};

describe('completion', () => {
  const AT = ['--kubeconfig', file];
  const FLAGS = [
    ...['--kubeconfig\ta file', '--context\ta context', '--cluster\ta cluster', '--user\ta user'],
    ...['--namespace\ta namespace', ':4'],
  ];

  test.each<[string, string[], string[]]>([
    ['a subcommand', [''], ['explain\tsays why', 'preflight', 'failing', ':4']],
    ['a subcommand, as far as it is typed', ['pre'], ['preflight', ':4']],
    ['a subcommand after a flag with a value', ['-n', 'explain', 'ex'], ['explain\tsays why', ':4']],
    ['a flag of the program', ['-'], FLAGS],
    ['a flag of the subcommand', ['explain', '--w'], ['--watch\tagain and again', ':4']],
    ['a value by its choices', ['explain', '-o', ''], ['json', 'yaml', ':4']],
    ['a value by its choices, after =', ['explain', '--output=y'], ['--output=yaml', ':4']],
    ['an argument', [...AT, 'explain', 'vm'], ['vm0', 'vm1', ':4']],
    ['an argument after flags', [...AT, 'explain', '--watch', '-o', 'json', 'vm1'], ['vm1', ':4']],
    ['an argument after --flag=value', [...AT, 'explain', '--output=json', 'af'], ['after-', ':4']],
    ['one of many arguments', [...AT, 'preflight', 'node', 'vm0', ''], ['after-node+vm0', 'vm1', ':4']],
    ['nothing after the last argument', [...AT, 'explain', 'vm0', ''], [':4']],
    ['a context', [...AT, '--context', ''], ['one', 'two', ':4']],
    ['a cluster', [...AT, '--cluster', ''], ['none', ':4']],
    ['a user', [...AT, '--user', ''], ['nobody', ':4']],
    ['a file', ['--kubeconfig', ''], [':0']],
    ['nothing where the API server does not answer', [...AT, 'failing', ''], [':1']],
    ['a subcommand after a word that is none', ['unknown', 'ex'], ['explain\tsays why', ':4']],
  ])('of %s', async (_, words, lines) => {
    expect(await completed(...words)).toEqual(lines);
  });
});

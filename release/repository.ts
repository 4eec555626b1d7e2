import { execFileSync } from 'node:child_process';

/** The git repository that is released. */
export class Repository {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Why no release can be made of what is here; empty: it can. */
  problems(version: string): string[] {
    const changed = this.#git('status', '--porcelain');
    const branch = this.#git('rev-parse', '--abbrev-ref', 'HEAD');
    return [
      ...(changed === '' ? [] : [`not everything is committed:\n${changed}`]),
      ...(branch === 'main' ? [] : [`this is branch ${branch}, and releases are made of main`]),
      ...(this.#git('tag', '--list', tagOf(version)) === ''
        ? []
        : [`there is a tag ${tagOf(version)} already`]),
    ];
  }

  /** When HEAD was committed, seconds: the time of everything in the release. */
  epoch(): number {
    return Number(this.#git('log', '-1', '--format=%ct'));
  }

  /** Commits these files and tags the commit, with the notes as the tag's message. */
  commit(version: string, files: readonly string[], notes: string): void {
    this.#git('add', '--', ...files);
    this.#git('commit', '--quiet', '--message', `Release ${version}`);
    this.#git('tag', '--annotate', tagOf(version), '--message', `${version}\n\n${notes}`);
  }

  #git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.#root, encoding: 'utf8' }).trim();
  }
}

export const tagOf = (version: string): string => `v${version}`;

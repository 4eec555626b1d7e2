/** A folder that is outside of this repository, and the environment variable that names another. */
export interface Place {
  readonly folder: string;
  readonly variable: string;
}

const UNWRITABLE: Readonly<Record<string, string>> = {
  EACCES: 'may not be written',
  EPERM: 'may not be written',
  EROFS: 'is read-only',
  ENOSPC: 'is full',
  EDQUOT: 'is full',
  ENOENT: 'does not exist',
  ENOTDIR: 'is no folder',
};

/** Returns what `write` returns. Throws an Error with the variable to set where nothing can be written to the folder. */
export function writingTo<T>({ folder, variable }: Place, write: () => T): T {
  try {
    return write();
  } catch (cause) {
    const why = UNWRITABLE[(cause as NodeJS.ErrnoException).code ?? ''];
    if (why === undefined) throw cause;
    throw new Error(`${folder} ${why}: set ${variable} to the absolute path of another folder`, { cause });
  }
}

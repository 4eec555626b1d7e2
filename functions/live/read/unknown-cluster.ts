import { Busy, describeError } from '../../kubernetes/errors.ts';

/** The error of a cluster that refused something, or broke off: nothing can be concluded about the plan. */
export class UnknownCluster extends Error {
  override readonly name = 'UnknownCluster';
  readonly side: 'source' | 'destination';

  constructor(side: 'source' | 'destination', cause: unknown) {
    super(describeError(cause), { cause });
    this.side = side;
  }
}

/** Rejects with UnknownCluster instead, but where this process is busy: then the caller is to try again. */
export const orUnknown = async <T>(side: 'source' | 'destination', read: Promise<T>): Promise<T> =>
  read.catch((error: unknown) => {
    throw error instanceof Busy ? error : new UnknownCluster(side, error);
  });

import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, type Status } from '../../../functions/kubernetes/errors.ts';

/** The object of a refusal. */
export interface ErrorTarget {
  readonly type: ResourceType;
  readonly name: string;
}

/** The API server's errors (apimachinery/pkg/api/errors), as the client derives them from its answers. */
export class ApiErrors {
  readonly #date: () => Date;

  constructor(date: () => Date) {
    this.#date = date;
  }

  notFound(target: ErrorTarget): ApiError {
    return this.#about(target, { code: 404, reason: 'NotFound', message: `${quoted(target)} not found` });
  }

  alreadyExists(target: ErrorTarget): ApiError {
    const message = `${quoted(target)} already exists`;
    return this.#about(target, { code: 409, reason: 'AlreadyExists', message });
  }

  conflict(target: ErrorTarget, why = MODIFIED): ApiError {
    const message = `Operation cannot be fulfilled on ${quoted(target)}: ${why}`;
    return this.#about(target, { code: 409, reason: 'Conflict', message });
  }

  /** Refused by an admission plugin. */
  forbidden(target: ErrorTarget, why: string, causes: Causes = []): ApiError {
    const message = `${quoted(target)} is forbidden: ${why}`;
    const details = causes.length === 0 ? {} : { details: { causes } };
    return this.#about(target, { code: 403, reason: 'Forbidden', message, ...details });
  }

  invalid(target: ErrorTarget, field: string, why: string): ApiError {
    const message = `${quoted(target)} is invalid: ${field}: ${why}`;
    const details = { causes: [{ reason: 'FieldValueInvalid', message: why, field }] };
    return this.#about(target, { code: 422, reason: 'Invalid', message, details });
  }

  internal(why: string): ApiError {
    const message = `Internal error occurred: ${why}`;
    return this.of({ code: 500, reason: 'InternalError', message, details: { causes: [{ message: why }] } });
  }

  /** The resourceVersion of a watch is too old. */
  expired(): ApiError {
    return this.of({ code: 410, reason: 'Expired', message: 'too old resource version' });
  }

  /** Any other error, such as a webhook's own. */
  of(status: Status): ApiError {
    return new ApiError('model', status, this.#date());
  }

  #about({ type, name }: ErrorTarget, { details, ...status }: Status): ApiError {
    return this.of({ ...status, details: { name, kind: type.plural, ...details } });
  }
}

type Causes = NonNullable<NonNullable<Status['details']>['causes']>;

const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

/** resourcequotas "quota", virtualmachineinstances.kubevirt.io "vm0" */
function quoted({ type: { apiVersion, plural }, name }: ErrorTarget): string {
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return `${group === undefined ? plural : `${plural}.${group}`} "${name}"`;
}

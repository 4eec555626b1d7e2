import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, type Status } from '../../../functions/kubernetes/errors.ts';

/** What a refusal is about. */
export interface Subject {
  readonly type: ResourceType;
  readonly name: string;
}

/** The API server's refusals (apimachinery/pkg/api/errors), as the client makes them of its answers. */
export class Refusals {
  readonly #date: () => Date;

  constructor(date: () => Date) {
    this.#date = date;
  }

  notFound(subject: Subject): ApiError {
    return this.#about(subject, { code: 404, reason: 'NotFound', message: `${quoted(subject)} not found` });
  }

  alreadyExists(subject: Subject): ApiError {
    const message = `${quoted(subject)} already exists`;
    return this.#about(subject, { code: 409, reason: 'AlreadyExists', message });
  }

  conflict(subject: Subject, why = MODIFIED): ApiError {
    const message = `Operation cannot be fulfilled on ${quoted(subject)}: ${why}`;
    return this.#about(subject, { code: 409, reason: 'Conflict', message });
  }

  /** By an admission plugin. */
  forbidden(subject: Subject, why: string, causes: Causes = []): ApiError {
    const message = `${quoted(subject)} is forbidden: ${why}`;
    const details = causes.length === 0 ? {} : { details: { causes } };
    return this.#about(subject, { code: 403, reason: 'Forbidden', message, ...details });
  }

  invalid(subject: Subject, field: string, why: string): ApiError {
    const message = `${quoted(subject)} is invalid: ${field}: ${why}`;
    const details = { causes: [{ reason: 'FieldValueInvalid', message: why, field }] };
    return this.#about(subject, { code: 422, reason: 'Invalid', message, details });
  }

  internal(why: string): ApiError {
    const message = `Internal error occurred: ${why}`;
    return this.of({ code: 500, reason: 'InternalError', message, details: { causes: [{ message: why }] } });
  }

  /** The resourceVersion of a watch is too old. */
  expired(): ApiError {
    return this.of({ code: 410, reason: 'Expired', message: 'too old resource version' });
  }

  /** Any other, as it is: a webhook's own. */
  of(status: Status): ApiError {
    return new ApiError('model', status, this.#date());
  }

  #about({ type, name }: Subject, { details, ...status }: Status): ApiError {
    return this.of({ ...status, details: { name, kind: type.plural, ...details } });
  }
}

type Causes = NonNullable<NonNullable<Status['details']>['causes']>;

const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

/** resourcequotas "quota", virtualmachineinstances.kubevirt.io "vm0" */
function quoted({ type: { apiVersion, plural }, name }: Subject): string {
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return `${group === undefined ? plural : `${plural}.${group}`} "${name}"`;
}

import * as z from 'zod';
import { FIELD_MANAGER } from '../names.ts';
import type { FieldsV1, ManagedFieldsEntry } from '../objects.ts';

const MAX_MANAGER_BYTES = 128;
const isManager = (text: string): boolean =>
  /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(text) && new TextEncoder().encode(text).length <= MAX_MANAGER_BYTES;

/**
 * Who owns a key of spec.hard, as metadata.managedFields names them. Only what the API server takes back: an entry that
 * it refuses would make the whole write invalid (apimachinery, ValidateManagedFields).
 */
export const ownerSchema = z.object({
  manager: z.string().refine(isManager),
  operation: z.enum(['Apply', 'Update']),
  apiVersion: z.string().min(1),
  time: z.iso.datetime({ offset: true }).optional(),
});
export type Owner = z.infer<typeof ownerSchema>;

/** Everybody who owns this key of spec.hard, but us. */
export function ownersOf(entries: readonly ManagedFieldsEntry[], key: string): Owner[] {
  return entries
    .filter(isOfObject)
    .filter((entry) => !isOurs(entry) && entry.fieldsV1?.['f:spec']?.['f:hard']?.[`f:${key}`] !== undefined)
    .flatMap((entry) => ownerSchema.safeParse(entry).data ?? []);
}

/**
 * metadata.managedFields with one key of spec.hard given back to those who owned it, and nothing of ours left on it.
 * The value must be theirs again. Sent in a PUT that leaves that value as it is, the API server takes the entries over
 * as they are (apimachinery, managedfields/internal/fieldmanager.go: "to allow directly updating managed fields").
 */
export function givenBack(
  entries: readonly ManagedFieldsEntry[],
  key: string,
  owners: readonly Owner[],
): ManagedFieldsEntry[] {
  const path = ['f:spec', 'f:hard', `f:${key}`];
  const without = entries.flatMap((entry) => (isOurs(entry) ? withoutField(entry, path) : [entry]));
  return owners.reduce((all, owner) => withOwner(all, owner, path), without);
}

/** Not written through a subresource: none of those changes a spec. */
const isOfObject = ({ subresource = '' }: ManagedFieldsEntry): boolean => subresource === '';

const isOurs = (entry: ManagedFieldsEntry): boolean =>
  isOfObject(entry) && entry.manager === FIELD_MANAGER && entry.operation === 'Update';

function withOwner(entries: readonly ManagedFieldsEntry[], owner: Owner, path: Path): ManagedFieldsEntry[] {
  const found = entries.find((entry) => isSame(entry, owner));
  // Its last key was ours for a while, and the API server keeps no empty entry: it is made anew, as it was.
  if (found === undefined) return [...entries, { ...owner, fieldsType: 'FieldsV1', fieldsV1: added(path) }];
  return entries.map((entry) =>
    entry === found ? { ...entry, fieldsV1: added(path, entry.fieldsV1) } : entry,
  );
}

/** As the API server tells managers apart (BuildManagerIdentifier): an applier is one in all versions. */
function isSame(entry: ManagedFieldsEntry, owner: Owner): boolean {
  return (
    isOfObject(entry) &&
    entry.manager === owner.manager &&
    entry.operation === owner.operation &&
    (owner.operation === 'Apply' || entry.apiVersion === owner.apiVersion)
  );
}

type Path = readonly string[];

/** An empty object says that the field itself is owned; beside fields below it, `.` says the same. */
function added([part, ...rest]: Path, fields?: FieldsV1): FieldsV1 {
  if (part === undefined) return fields ?? {};
  const itself = fields !== undefined && isEmpty(fields) ? { '.': {} } : fields;
  return { ...itself, [part]: added(rest, fields?.[part]) };
}

function withoutField(entry: ManagedFieldsEntry, path: Path): ManagedFieldsEntry[] {
  const fieldsV1 = removed(path, entry.fieldsV1 ?? {});
  return fieldsV1 === undefined ? [] : [{ ...entry, fieldsV1 }];
}

/** undefined: nothing is left that is owned. */
function removed([part = '', ...rest]: Path, fields: FieldsV1): FieldsV1 | undefined {
  const { [part]: child, ...others } = fields;
  if (child === undefined) return fields;
  const left = rest.length === 0 ? undefined : removed(rest, child);
  if (left !== undefined) return { ...others, [part]: left };
  return isEmpty(others) ? undefined : others;
}

const isEmpty = (fields: FieldsV1): boolean => Object.keys(fields).length === 0;

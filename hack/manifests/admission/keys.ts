import { ANNOTATION, LABEL, OUR_KEYS, UNREADABLE_TOKEN } from '../../../functions/domain/names.ts';
import { TOKEN_TEXT } from '../../../functions/domain/token.ts';
import { annotation, label, oldAnnotation, orNone, text } from './cel.ts';

/** The keys on a Namespace and on a ResourceQuota that only our accounts may write, and the break-glass key. */

interface Keys {
  readonly annotations: readonly string[];
  readonly labels: readonly string[];
}

/** A CEL list of pairs: the map in metadata, and the key in it. */
const pairs = ({ annotations, labels }: Keys): string => {
  const pair = (map: string, key: string): string => `[${text(map)}, ${text(key)}]`;
  return `[${[...annotations.map((key) => pair('annotations', key)), ...labels.map((key) => pair('labels', key))].join(', ')}]`;
};

/** The value of the pair `key` after and before the write. */
export const AFTER = 'object.metadata[?key[0]][?key[1]]';
export const BEFORE = orNone('oldObject.metadata[?key[0]][?key[1]]');
const CHANGES = `${AFTER} != ${BEFORE}`;

export const QUOTA_KEYS = pairs(OUR_KEYS.quota);
const NAMESPACE_KEYS = pairs(OUR_KEYS.namespace);

export const QUOTA_KEYS_CHANGE = `${QUOTA_KEYS}.exists(key, ${CHANGES})`;

/** The stored namespace has a lock, which may be unreadable (lockOf). */
export const IS_LOCKED = `(${oldAnnotation(ANNOTATION.lock)}.hasValue() || ${orNone(label('oldObject', LABEL.locked))}.hasValue())`;

/**
 * A new namespace may have a last attempt (from a backup): it has no lock, and one in the future counts as now. Where there is no lock,
 * every user who may update the namespace may remove our keys, as tools do that own all of its annotations. Without its last attempt the
 * namespace has no back-off and a whole lock budget: that user lets failing migrations lock this one namespace for longer.
 */
const NAMESPACE_CHANGES = `${CHANGES} && !(oldObject == null && key[1] == ${text(ANNOTATION.lastAttempt)})
  && (${AFTER}.hasValue() || ${IS_LOCKED})`;

const GLASS = annotation('object', ANNOTATION.breakGlass);
/** Every user may remove it, but only a user with the override right may set it: otherwise a user could set it in advance. */
const GLASS_IS_SET = `${GLASS}.hasValue() && ${GLASS} != ${oldAnnotation(ANNOTATION.breakGlass)}`;

export const NAMESPACE_KEYS_CHANGE = `${NAMESPACE_KEYS}.exists(key, ${NAMESPACE_CHANGES}) || (${GLASS_IS_SET})`;

/** The names of the changed keys. */
export const CHANGED_NAMESPACE_KEYS = `${NAMESPACE_KEYS}.filter(key, ${NAMESPACE_CHANGES}).map(key, key[1])
  + (${GLASS_IS_SET} ? [${text(ANNOTATION.breakGlass)}] : [])`;

const TOKEN = `${oldAnnotation(ANNOTATION.token)}.orValue('')`;
/** The break-glass value that this namespace accepts. */
export const BREAK_GLASS_TOKEN = `(${TOKEN}.matches(${text(TOKEN_TEXT)}) ? ${TOKEN} : ${text(UNREADABLE_TOKEN)})`;

/**
 * The override right alone is not enough; the write must also set the break-glass key. So a controller with cluster-admin rights that
 * replaces a Namespace does not remove a lock by accident.
 */
export const BREAKS_GLASS = `${GLASS_IS_SET} && ${GLASS} == optional.of(${BREAK_GLASS_TOKEN}) && ${mayOverride('object.metadata.name')}`;

/** Whether the user has the override right, in the namespace whose name the CEL expression gives. */
export function mayOverride(namespace: string): string {
  return `authorizer.group('mtq.kubevirt.io').resource('locks').name(${namespace}).check('override').allowed()`;
}

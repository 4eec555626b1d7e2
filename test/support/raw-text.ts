import type { ForeignText } from '../../functions/domain/foreign-text.ts';

/** The text as it was read, for tests and stand-ins; '' if there is none. */
export const rawText = (text: ForeignText | undefined): string => (typeof text === 'string' ? text : '');

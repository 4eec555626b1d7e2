/**
 * The text of a lock's token, as a regular expression of JavaScript and of CEL; ours are UUIDs. Any other one is unreadable: the refusal of a
 * change has the token in a command, which an admin copies.
 */
export const TOKEN_TEXT = '^[A-Za-z0-9._-]{1,253}$';

export const TOKEN = new RegExp(TOKEN_TEXT);

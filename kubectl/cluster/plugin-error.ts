/** The error when the plugin cannot answer; the message says why, and what to do. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

/** What a process that serves `live` loads. */
export { Remotes } from '../kubernetes/remote.ts';
export { newLiveFunction } from './function.ts';

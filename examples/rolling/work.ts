/** Works on the drained node, and marks it: only the mark lets `rolling` uncordon the node. */
import { CloudEvent } from 'cloudevents';
import { log, serve } from '../serve.ts';
import { decide, workedPatch } from './decide.ts';
import { WORKED } from './events.ts';
import { request } from './kubernetes.ts';
import { look } from './look.ts';

await serve(
  async () => {
    // Any pod may post the event: the nodes say whether there is work.
    const seen = await look();
    const action = decide(seen);
    if (action.do !== 'work') {
      log(`no work: ${action.do}`);
      return undefined;
    }
    const { name } = action.node.metadata;
    // Your work on the node, such as an update and a reboot. End it when the node may take VMs again.
    log(`worked on ${name}`);
    await request(`/api/v1/nodes/${name}`, workedPatch(action.node, seen.roll));
    return new CloudEvent({ type: WORKED, source: '/examples/work', data: { node: name } });
  },
  Number(process.env['PORT'] ?? '8080'),
);

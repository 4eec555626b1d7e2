/** The work on a drained node: put yours here, such as an update and a reboot. Answer when the node may take VMs again. */
import { CloudEvent } from 'cloudevents';
import { serve } from '../serve.ts';
import { nodeIn, WORKED } from './events.ts';

await serve(
  (event) => {
    const node = nodeIn(event);
    return Promise.resolve(new CloudEvent({ type: WORKED, source: '/examples/work', data: { node } }));
  },
  Number(process.env['PORT'] ?? '8080'),
);

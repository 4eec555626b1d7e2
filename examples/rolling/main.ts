/**
 * Cordons the nodes one after another, has each one worked on when its VMs have left, and uncordons it. An event only starts a look at the
 * nodes, because any pod may post one.
 */
import { CloudEvent } from 'cloudevents';
import { log, serve } from '../serve.ts';
import { decide, patchOf } from './decide.ts';
import { DRAINED } from './events.ts';
import { request } from './kubernetes.ts';
import { look } from './look.ts';

const { DRAIN_TAINT: taint = 'kubevirt.io/drain', PORT = '8080' } = process.env;

await serve(async () => {
  for (;;) {
    const seen = await look();
    const action = decide(seen);
    if (action.do === 'nothing') {
      log(action.why);
      return undefined;
    }
    const { name } = action.node.metadata;
    log(`${action.do} ${name}`);
    if (action.do === 'work')
      return new CloudEvent({ type: DRAINED, source: '/examples/rolling', data: { node: name } });
    await request(`/api/v1/nodes/${name}`, patchOf(action.do, action.node, { ...seen, taint }));
  }
}, Number(PORT));

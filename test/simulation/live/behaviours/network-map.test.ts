import { describe, expect, test } from '@jest/globals';
import { NETWORK_MAPS } from '../../../../functions/kubernetes/live-resources.ts';
import { aNetworkMap } from '../../../support/builders/live.ts';
import { conditionsOf, ModelledRun } from '../world/modelled-run.ts';

const NETWORKS = { namespace: 'tenant', name: 'networks' };
const OF_PODS = { merge: { spec: { map: [{ source: { type: 'pod' }, destination: { type: 'pod' } }] } } };

describe('a network map is compared with the networks', () => {
  test('of both clusters', async () => {
    const run = await ModelledRun.prepare();
    await run.changed('NetworkMap', NETWORKS.name);
    expect(conditionsOf((await run.hub.get(NETWORK_MAPS, NETWORKS)).object.status)).toEqual([
      'SourceNetworkNotValid NotFound',
      'DestinationNetworkNotValid NotFound',
    ]);
  });

  test('of both, whose Providers are in its own namespace, before a plan names it', async () => {
    const run = await ModelledRun.prepare();
    const { spec, metadata: known } = aNetworkMap();
    const provider = { source: { name: 'source' }, destination: { namespace: '', name: 'destination' } };
    const metadata = { namespace: 'tenant', name: 'other', annotations: known.annotations ?? {} };
    await run.hub.create(NETWORK_MAPS, { metadata, spec: { ...spec, provider } });
    await run.changed('NetworkMap', metadata.name);
    expect(conditionsOf((await run.hub.get(NETWORK_MAPS, metadata)).object.status)).toEqual([
      'SourceNetworkNotValid NotFound',
      'DestinationNetworkNotValid NotFound',
    ]);
  });

  test('not of the source where it maps none of them', async () => {
    const run = await ModelledRun.prepare();
    await run.hub.patch(NETWORK_MAPS, NETWORKS, OF_PODS);
    await run.changed('NetworkMap', NETWORKS.name);
    const asked = run.requests.filter((request) => request.includes('NetworkAttachmentDefinition'));
    expect([...new Set(asked)]).toEqual(['list NetworkAttachmentDefinition on destination']);
  });
});

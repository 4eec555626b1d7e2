import { ANNOTATION, LABEL } from '../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../functions/domain/objects.ts';
import type { ListedType } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { listed, NAMED, OBJECT } from '../../functions/cluster/listed.ts';
import { thinned } from '../../functions/cluster/quotas.ts';

/* What the watchdog keeps: of all tenants, and never written. */

/** The locked namespaces, cut down because a lock is an annotation, so it may have 256 KiB. */
export const LISTED_LOCKS = listed<Namespace>(
  NAMESPACES,
  {
    ...OBJECT,
    metadata: {
      ...NAMED,
      resourceVersion: true,
      labels: { [LABEL.locked]: true },
      annotations: { [ANNOTATION.lock]: true },
    },
    status: false,
  },
  { maxBytes: 512 * 1024 },
);

export const LISTED_RAISED: ListedType<ResourceQuota> = { ...RESOURCE_QUOTAS, trim: thinned };

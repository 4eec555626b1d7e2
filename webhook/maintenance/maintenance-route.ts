import type { RequestHandler } from 'express';
import { maintenanceChangedData } from '../../functions/domain/events.ts';
import type { Maintenance } from '../../functions/domain/progress/maintenance.ts';
import type { Subject } from '../../functions/domain/progress/progress-object.ts';

export interface MaintenanceSource {
  /** Returns the maintenance; undefined until the watches have listed every kind. */
  maintenanceOf(subject: Subject): Maintenance | undefined;
}

/** GET /maintenance?kind=Drain&node=NODE or ?kind=Upgrade, from memory. 400 for another subject, 503 until the view is complete. */
export const maintenanceRoute =
  (source: MaintenanceSource): RequestHandler =>
  ({ query }, response) => {
    const subject = maintenanceChangedData.safeParse(query);
    if (!subject.success) {
      response.status(400).type('text/plain').send('must be kind=Drain with a node, or kind=Upgrade\n');
      return;
    }
    const seen = source.maintenanceOf(subject.data);
    if (seen === undefined)
      response.status(503).type('text/plain').send('the cluster is still being listed\n');
    else response.json(seen);
  };

import { EVENT_REASON, KIND, REASON } from '../../../functions/domain/names.ts';
import type { EventReport } from '../../../functions/domain/verdict/report.ts';

/** That a quota refuses mig0. */
export const anEventReport = (different: Partial<EventReport> = {}): EventReport => ({
  on: { ...KIND.migration, namespace: 'tenant', name: 'mig0', uid: 'uid-of-mig0' },
  type: 'Warning',
  reason: EVENT_REASON.quotaNotEnough,
  message: 'quota lacks pods=1',
  because: REASON.notEnough,
  key: '',
  ...different,
});

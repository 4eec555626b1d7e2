/**
 * Files that decide: values in, values out. No clock, no randomness, no process, no client (docs/adr/0002): checked by
 * eslint.config.js. test/contract/static/layers.test.ts sees to it that every file that claims it is one of them.
 */
export const PURE = [
  'functions/*/decide.ts',
  'functions/lower/decide-seen.ts',
  'functions/*/can-skip.ts',
  'functions/domain/**/*.ts',
  'functions/runtime/limits.ts',
  'webhook/admission/{changed-keys,review,words}.ts',
  'webhook/observability/compatibility.ts',
  'webhook/view/slots.ts',
  'webhook/watchdog/missing-event.ts',
  'hack/demo/timeline-events/of-change.ts',
  'test/cluster/kubevirt/{migration-phases,node-steps,parallel-limits,pods,vmi-phases}.ts',
];

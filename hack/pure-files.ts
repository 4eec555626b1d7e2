/**
 * Files that only decide: values in, values out. They use no clock, no randomness, no process and no client (docs/adr/0002);
 * eslint.config.js checks that. test/contract/static/layers.test.ts checks that every file whose comments claim it is in this list, and
 * so is every file whose values a listed file imports.
 */
export const PURE = [
  'functions/*/decide.ts',
  'functions/feasibility/{headroom-wait,nothing-open}.ts',
  'functions/lower/decide-seen.ts',
  'functions/*/can-skip.ts',
  'functions/progress/{ending,event-data,next-status,opening,outbox}.ts',
  'functions/live/{findings,guest,run,status,steps,target}/*.ts',
  'functions/live/migration/{abandon,wrong-namespace}.ts',
  'functions/live/plan/rights.ts',
  'functions/live/watcher/{wanted,what-counts}.ts',
  'functions/domain/**/*.ts',
  'functions/runtime/{limits,zod}.ts',
  'examples/rolling/decide.ts',
  'webhook/admission/{changed-keys,messages,review}.ts',
  'webhook/observability/compatibility.ts',
  'webhook/live/{provider-review,requester-annotation,sweeps}.ts',
  'webhook/maintenance/{observe,retention,subjects}.ts',
  'webhook/watchdog/missing-event.ts',
  'kubectl/explain/{arithmetic,explanation,render}.ts',
  'kubectl/preflight/{charges,namespace-run,outcome,plan-report,pods,preflight,render,slots,suggest,surroundings,task,what-if,worst-case}.ts',
  'kubectl/progress/{bar,choose,migration,render,render-migration}.ts',
  'kubectl/status/{render,report}.ts',
  'kubectl/unlock/plan.ts',
  'kubectl/terminal/{age,table,verdict-style}.ts',
  'hack/demo/timeline-events/{kubevirt,migration,namespace,of-change,progress,quota,reports}.ts',
  'test/cluster/kubevirt/{attachment-pod,compute-resources,names,pods,release}.ts',
  'test/cluster/kubevirt/{automated-backoff,automated-migrations,evacuation,eviction-review,migration-review,vmi-reports}.ts',
  'test/cluster/kubevirt/{migration-phases,node-steps,parallel-limits,vmi-phases,workload-update}.ts',
  'test/cluster/kubevirt/{merge-between,vm-phases,vm-status,vmi-scheduling,vmi-view}.ts',
  'test/cluster/kubevirt/decentralized/{in-phase,migration-phases,node-steps,relay,sides,synchronization,vmi-phases,volumes}.ts',
];

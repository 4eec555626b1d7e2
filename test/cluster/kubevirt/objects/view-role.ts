/** KubeVirt's own part of ClusterRole `view` (pkg/virt-operator/resource/generate/rbac/cluster.go), as far as it is about our kinds. */
export const VIEW_ROLE = {
  metadata: { name: 'kubevirt.io:view', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
  rules: [
    {
      apiGroups: ['kubevirt.io'],
      resources: ['virtualmachineinstances', 'virtualmachineinstancemigrations'],
      verbs: ['get', 'list', 'watch'],
    },
  ],
};

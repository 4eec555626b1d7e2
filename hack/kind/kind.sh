#!/usr/bin/env bash
# npm run kind: a kind cluster with Knative and KubeVirt, this project in it, and the end-to-end suite against it.
# It has NEVER RUN on the development machine, where no container engine works. shellcheck and test/contract/static/kind.test.ts
# check it. Each step of another project names the instructions that it follows.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=hack/kind/versions.env
source hack/kind/versions.env
# shellcheck source=hack/arguments.sh
source hack/arguments.sh

readonly CLUSTER=mtq IMAGE=kind.local/managed-tenant-quota OUT=$PWD/out/kind
# A separate kubeconfig, so that no command below can reach another cluster.
export KUBECONFIG=$OUT/kubeconfig

usage() {
  cat <<END
Usage: npm run kind -- [STEP]...

Runs the steps, all but delete when none is named. Each can run again.

  cluster   makes the cluster: one control plane, two workers
  knative   installs Knative Serving, Kourier and Knative Eventing
  kubevirt  installs KubeVirt with software emulation
  image     builds the image and loads it into the nodes
  install   installs managed-tenant-quota with that image
  e2e       runs the end-to-end suite
  delete    deletes the cluster

  -h, --help  display this
END
}

die() {
  echo "npm run kind: $*" >&2
  exit 1
}

# kind uses the same engine as npm run image (hack/image/build.mjs).
tools() {
  local found
  if docker buildx version &>/dev/null && docker info &>/dev/null; then
    engine=docker
  elif podman info &>/dev/null; then
    engine=podman
  else
    die "no container engine works. Install docker with buildx (https://docs.docker.com/engine/install/)" \
      "or podman (https://podman.io/docs/installation), and start it."
  fi
  # https://kind.sigs.k8s.io/docs/user/rootless/#creating-a-kind-cluster-with-rootless-podman
  export KIND_EXPERIMENTAL_PROVIDER=$engine
  command -v kubectl >/dev/null || die "kubectl is missing. Install it: https://kubernetes.io/docs/tasks/tools/"
  command -v kind >/dev/null || die "kind is missing. Install kind $KIND_VERSION or newer:" \
    "https://kind.sigs.k8s.io/docs/user/quick-start/#installation"
  # An older kind cannot load images into these nodes: https://github.com/kubernetes-sigs/kind/releases/tag/v0.32.0
  found=$(kind version | grep -Eom1 'v[0-9.]+')
  printf '%s\n' "$KIND_VERSION" "$found" | sort -VC ||
    die "kind $found is too old for the node image. Install kind $KIND_VERSION or newer."
}

available() {
  kubectl wait deployment --all --namespace "$1" --for condition=Available --timeout 10m
}

# https://kind.sigs.k8s.io/docs/user/quick-start/#creating-a-cluster
step_cluster() {
  local inotify
  # https://kind.sigs.k8s.io/docs/user/known-issues/#pod-errors-due-to-too-many-open-files
  inotify=$(cat /proc/sys/fs/inotify/max_user_instances 2>/dev/null || echo 512)
  ((inotify >= 512)) || die "fs.inotify.max_user_instances is $inotify: pods would fail with 'too many open files'." \
    "Run: sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
  kind get clusters | grep -Fx "$CLUSTER" >/dev/null ||
    kind create cluster --name "$CLUSTER" --config hack/kind/cluster.yaml --image "$NODE_IMAGE" --wait 5m
  kind export kubeconfig --name "$CLUSTER"
  kubectl wait node --all --for condition=Ready --timeout 5m
}

step_knative() {
  local serving=https://github.com/knative/serving/releases/download/knative-$KNATIVE_SERVING_VERSION
  local kourier=https://github.com/knative-extensions/net-kourier/releases/download/knative-$KOURIER_VERSION
  local eventing=https://github.com/knative/eventing/releases/download/knative-$KNATIVE_EVENTING_VERSION
  # https://knative.dev/docs/install/yaml-install/serving/install-serving-with-yaml/ with Kourier and without DNS, because
  # our Services are local to the cluster.
  kubectl apply -f "$serving/serving-crds.yaml"
  kubectl wait crd --all --for condition=Established --timeout 1m
  kubectl apply -f "$serving/serving-core.yaml"
  # Its webhook checks the ConfigMap below.
  available knative-serving
  kubectl apply -f "$kourier/kourier.yaml"
  kubectl patch configmap/config-network --namespace knative-serving --type merge \
    --patch '{"data":{"ingress-class":"kourier.ingress.networking.knative.dev"}}'
  available knative-serving
  available kourier-system
  # https://knative.dev/docs/install/yaml-install/eventing/install-eventing-with-yaml/ with the in-memory channel and the
  # multi-tenant Broker.
  kubectl apply -f "$eventing/eventing-crds.yaml"
  kubectl wait crd --all --for condition=Established --timeout 1m
  kubectl apply -f "$eventing/eventing-core.yaml"
  available knative-eventing
  kubectl apply -f "$eventing/in-memory-channel.yaml" -f "$eventing/mt-channel-broker.yaml"
  available knative-eventing
}

# https://kubevirt.io/user-guide/cluster_admin/installation/. KubeVirt 0.56 and newer need no feature gate for live
# migration (https://kubevirt.io/user-guide/compute/live_migration/).
step_kubevirt() {
  local kubevirt=https://github.com/kubevirt/kubevirt/releases/download/$KUBEVIRT_VERSION
  kubectl apply -f "$kubevirt/kubevirt-operator.yaml"
  kubectl wait crd/kubevirts.kubevirt.io --for condition=Established --timeout 1m
  kubectl apply -f "$kubevirt/kubevirt-cr.yaml"
  kubectl patch kubevirt/kubevirt --namespace kubevirt --type merge \
    --patch '{"spec":{"configuration":{"developerConfiguration":{"useEmulation":true}}}}'
  kubectl wait kubevirt/kubevirt --namespace kubevirt --for condition=Available --timeout 20m
}

# The tag is the image's id: for Knative, another image is another revision. Knative asks no registry about kind.local
# (https://github.com/knative/serving/blob/main/config/core/configmaps/deployment.yaml).
step_image() {
  local tag
  # So that the id depends on the contents only:
  # https://docs.docker.com/build/building/variables/#buildx_no_default_attestations
  BUILDX_NO_DEFAULT_ATTESTATIONS=1 npm run image -- --tag "$IMAGE:built"
  tag=$("$engine" image inspect --format '{{.Id}}' "$IMAGE:built" | sed 's/^sha256://' | cut -c 1-12)
  "$engine" tag "$IMAGE:built" "$IMAGE:$tag"
  # An archive, because `kind load docker-image` knows no podman:
  # https://kind.sigs.k8s.io/docs/user/quick-start/#loading-an-image-into-your-cluster
  rm -f "$OUT/image.tar"
  "$engine" save --output "$OUT/image.tar" "$IMAGE:$tag"
  kind load image-archive "$OUT/image.tar" --name "$CLUSTER"
  mkdir -p "$OUT/install"
  cat >"$OUT/install/kustomization.yaml" <<END
resources: [../../../config/base]
images: [{ name: managed-tenant-quota, newName: $IMAGE, newTag: '$tag' }]
END
}

step_install() {
  [[ -f $OUT/install/kustomization.yaml ]] || die "no image yet. Run: npm run kind -- image"
  kubectl apply -k "$OUT/install"
  kubectl rollout status deployment/mtq-guard --namespace mtq-system --timeout 5m
  kubectl wait services.serving.knative.dev --all --namespace mtq-system --for condition=Ready --timeout 5m
}

# An emulated VM starts slowly, and each node pulls its image first.
step_e2e() {
  E2E_GIVEN_SECONDS=${E2E_GIVEN_SECONDS:-900} E2E_THEN_SECONDS=${E2E_THEN_SECONDS:-600} npm run test:e2e
}

step_delete() {
  kind delete cluster --name "$CLUSTER"
  rm -rf "$OUT"
}

(($#)) || set -- cluster knative kubevirt image install e2e
for step in "$@"; do
  [[ $step != *help && $step != -h ]] || { usage && exit; }
  [[ $(type -t "step_$step") == function ]] || refuse "unknown step '$step'"
done
tools
mkdir -p "$OUT"
trap '[[ ! -s $KUBECONFIG ]] || printf "To use the cluster: %s\nTo delete it: npm run kind -- delete\n" \
  "export KUBECONFIG=$KUBECONFIG"' EXIT
for step in "$@"; do
  echo "· $step"
  [[ $step == cluster || $step == delete || -s $KUBECONFIG ]] || die "no cluster yet. Run: npm run kind -- cluster"
  "step_$step"
done

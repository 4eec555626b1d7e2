#!/usr/bin/env bash
# npm run pack: writes the files of a release (docs/development.md).
set -euo pipefail

usage() {
  cat <<END
Usage: npm run pack -- [FOLDER]

Writes the files of a release to FOLDER (default: out/release), which must be empty.

  IMAGE       the pushed image, preferably by digest
  PLUGIN_URL  where the archive of the kubectl plugin will be, for its krew manifest
  -h, --help  display this
END
}

# shellcheck source=hack/arguments.sh
source "$(dirname "$0")/arguments.sh"
read_arguments 1 "$@"
cd "$(dirname "$0")/.."
out=${1:-out/release}
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -n "$(ls -A "$out")" ]; then
  echo "$out is not empty" >&2
  exit 1
fi
# This runs first, because it fails without IMAGE.
npm run --silent manifests -- --out "$out/manifests"
npm run --silent build
npm pack --silent --pack-destination "$out"
npm run --silent sbom >"$out/sbom.cdx.json"
archive=kubectl-vmmrq.tar.gz
# The same bytes for the same files.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --create \
  --directory dist/kubectl . --directory ../.. LICENSE | gzip --no-name --best >"$out/$archive"
sha256=$(sha256sum "$out/$archive")
version=$(node --print 'require("./package.json").version')
oldest=$(node --print 'require("./package.json").engines.node.match(/\d+/)[0]')
sed "s|VERSION|$version|; s|PLUGIN_URL|${PLUGIN_URL:-$archive}|; s|SHA256|${sha256%% *}|; s|OLDEST|$oldest|; /^#/d" \
  hack/krew/vmmrq.yaml >"$out/vmmrq.yaml"
cd "$out"
find . -type f ! -name SHA256SUMS -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS
echo "$out"

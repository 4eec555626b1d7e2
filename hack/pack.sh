#!/usr/bin/env bash
# npm run pack: writes the files of a release to out/release or to the given folder. IMAGE is the pushed image
# (docs/development.md), preferably by digest.
set -euo pipefail
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
cd "$out"
find . -type f ! -name SHA256SUMS -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS
echo "$out"

#!/usr/bin/env bash
# npm run sbom: prints CycloneDX of the packages that package-lock.json installs without devDependencies. `npm sbom --omit dev` also
# omits packages that a devDependency shares (npm/cli#7909), so npm gets a tree without devDependencies. Needs no network.
set -euo pipefail

usage() {
  cat <<END
Usage: npm run sbom

Prints CycloneDX of the packages of package-lock.json without devDependencies.

  -h, --help  display this
END
}

# shellcheck source=hack/arguments.sh
source "$(dirname "$0")/arguments.sh"
read_arguments 0 "$@"
cd "$(dirname "$0")/.."
temporary=$(mktemp -d) || {
  echo 'error: set TMPDIR to the absolute path of another folder' >&2
  exit 1
}
trap 'rm -rf "$temporary"' EXIT
# npm names the document's component after the folder.
tree=$temporary/managed-tenant-quota-knative
mkdir "$tree"
cp package.json package-lock.json "$tree"
cd "$tree"
npm pkg delete devDependencies
npm prune --package-lock-only --offline --silent
# The optional package is only Node for this machine; the image has Node from its base.
npm sbom --package-lock-only --sbom-format cyclonedx --sbom-type application --omit optional

#!/usr/bin/env bash
# npm run sbom: CycloneDX of what package-lock.json installs without devDependencies, to stdout. `npm sbom --omit dev`
# leaves out what a devDependency uses too (npm/cli#7909), so npm gets a tree without them. Needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
# npm names the document's component after the folder.
tree=$temporary/managed-tenant-quota-knative
mkdir "$tree"
cp package.json package-lock.json "$tree"
cd "$tree"
npm pkg delete devDependencies
npm prune --package-lock-only --offline --silent
# Optional: only Node for this machine; the image has that of its base.
npm sbom --package-lock-only --sbom-format cyclonedx --sbom-type application --omit optional

# kubectl runs this file. An older Node cannot load what follows, so the process that loads it looks at its version first.
# hack/build.ts fills in the oldest one.
if ! command -v node >/dev/null 2>&1; then
  echo 'kubectl vmmrq needs Node OLDEST or newer, and there is no node on the PATH.' >&2
  exit 2
fi
exec node --eval '
  // No answer, until the plugin has one.
  process.exitCode = 2;
  if (parseInt(process.version.slice(1), 10) >= OLDEST) import(require("url").pathToFileURL(process.argv[1]));
  else console.error("kubectl vmmrq needs Node OLDEST or newer, and the node on the PATH is " + process.version + ".");
' "$0" "$@"

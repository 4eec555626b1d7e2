# Sourced by the shell scripts of package.json, which define `usage`.

# Refuses the arguments, with the usage and exit code 2.
refuse() {
  { printf 'error: %s\n\n' "$1" && usage; } >&2
  exit 2
}

# Answers --help, and refuses flags and more than $1 of the arguments after it.
read_arguments() {
  local most=$1
  shift
  case ${1-} in
    -h | --help) usage && exit ;;
    -*) refuse "unknown option '$1'" ;;
  esac
  (($# <= most)) || refuse 'too many arguments'
}

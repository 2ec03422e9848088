# Sourced by tests of programs: expect runs $program, $failures counts what was not as expected, and
# $scratch is a folder that is gone afterwards.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect CODE PIECE ARGUMENTS...: the program ends with this exit code and prints this piece of text.
expect() {
  local code=$1 piece=$2 output status=0
  shift 2
  output=$("$program" "$@" 2>&1) || status=$?
  if ((status != code)) || [[ $output != *"$piece"* ]]; then
    printf "FAILED: %s\n  exit code %s, wanted %s\n  wanted: %s\n  output: %s\n" "$*" "$status" \
      "$code" "$piece" "$output"
    failures=$((failures + 1))
  fi
}

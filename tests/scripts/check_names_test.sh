#!/usr/bin/env bash
# Does scripts/check_names catch functions that two files of a folder define, and only those?
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_names
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tests/a" "$tree/tests/b"

# expect RESULT: "ok", or a piece of the message.
expect() {
  local output status=0
  output=$("$check" "$tree" 2>&1) || status=$?
  if [[ $1 == ok ]] && ((status == 0)); then return; fi
  if [[ $1 != ok && $output == *"$1"* ]] && ((status == 1)); then return; fi
  printf 'FAILED: wanted "%s", exit code %s, output: %s\n' "$1" "$status" "$output"
  exit 1
}

printf '%s\n' 'int helper(int x) {' '  return other(x);' '}' 'TEST(A, One) {' '}' >"$tree/tests/a/one_test.cpp"
printf '%s\n' 'int helper(double x) { return 2; }' >"$tree/tests/b/two_test.cpp"
expect ok
printf '%s\n' 'int helper(int x);' 'TEST(A, Two) {' '}' 'static int other(int x) { return x; }' >"$tree/tests/a/two_test.cpp"
expect ok
printf '%s\n' 'std::vector<int> helper(double x) {' '}' >>"$tree/tests/a/two_test.cpp"
expect 'tests/a/two_test.cpp:5: helper is also defined in tests/a/one_test.cpp'
rm "$tree/tests/a/two_test.cpp"
mkdir -p "$tree/tandem/c/d" "$tree/tandem/e"
for file in c/one c/d/two e/one e/two; do echo 'void f() {}' >"$tree/tandem/$file.cpp"; done
printf '%s\n' 'tandem_folder(c UNITY LIBRARIES x)' 'tandem_folder(e)' >"$tree/CMakeLists.txt"
expect 'tandem/c/one.cpp:1: f is also defined in tandem/c/d/two.cpp'
rm "$tree/tandem/c/one.cpp"
expect ok

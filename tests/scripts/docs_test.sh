#!/usr/bin/env bash
# docs_test.sh BUILD CXX FILE...: compiles and runs the C++ of Markdown files against the library in BUILD.
#
# A block ```cpp with a main is a program. The others of a file become one program, each in a scope of its
# own. A block ```output after a ```cpp block is what that one prints, and is compared.
set -euo pipefail
build=$1 cxx=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

# The programs begin with the same header, which GCC need not parse for each.
flags=(-std=c++20 -O0 -Wall -Wextra -Wno-init-list-lifetime -I"$root")
if "$cxx" --version | grep -q 'Free Software Foundation'; then
  mkdir -p "$scratch/parsed/tandem"
  "$cxx" "${flags[@]}" -w -x c++-header "$root/tandem/tandem.h" -o "$scratch/parsed/tandem/tandem.h.gch"
  flags=(-I"$scratch/parsed" "${flags[@]}")
fi

# compile_and_run NAME: NAME.cpp to NAME.out
compile_and_run() {
  local name=$1
  if ! "$cxx" "${flags[@]}" "$name.cpp" -o "$name" -L"$build" -ltandem \
    -Wl,-rpath,"$build" >"$name.log" 2>&1; then
    cat "$name.log"
    return 1
  fi
  "$name" >"$name.out" 2>"$name.err" || { cat "$name.err"; return 1; }
}

for file; do
  work=$scratch/$(basename "$file" .md)
  mkdir -p "$work"
  # Splits the file: block N to N.cpp, the output it promises to N.expected, its line to N.line.
  awk -v dir="$work" '
    /^```/ && inside { inside = 0; close(target); next }
    /^```cpp$/       { inside = 1; ++n; target = dir "/" n ".block"; print FNR > (dir "/" n ".line"); printf "" > target; last = n; next }
    /^```output$/    { inside = 1; target = dir "/" last ".expected"; printf "" > target; next }
    /^```/           { inside = 1; target = "/dev/null"; next }
    inside           { print > target }
  ' "$file"
  snippets=$work/snippets
  printf '%s\n' '#include <tandem/tandem.h>' '#include <filesystem>' '#include <fstream>' \
    '#include <iostream>' '#include <vector>' \
    'using namespace tandem;' >"$snippets.cpp"
  calls=
  for block in $(cd "$work" && ls | sed -n 's/\.block$//p' | sort -n); do
    line=$(<"$work/$block.line")
    if grep -q 'int main' "$work/$block.block"; then
      { echo "#line $((line + 1)) \"$file\""; cat "$work/$block.block"; } >"$work/program$block.cpp"
      if ! compile_and_run "$work/program$block"; then
        fail "$file:$line: the program does not compile or run"
      elif [[ -e $work/$block.expected ]] && ! diff "$work/$block.expected" "$work/program$block.out"; then
        fail "$file:$line: the program prints something else"
      fi
      continue
    fi
    # A seed, so that random numbers in the text stay true.
    { echo "static void block$block() {"
      echo "manual_seed(0);"
      echo "#line $((line + 1)) \"$file\""
      cat "$work/$block.block"
      echo "}"; } >>"$snippets.cpp"
    calls+="std::cout << \"@@block $block\\n\"; block$block(); std::cout << std::flush;"$'\n'
  done
  [[ $calls ]] || continue
  printf 'int main() {\n%s}\n' "$calls" >>"$snippets.cpp"
  if ! compile_and_run "$snippets"; then
    fail "$file: the blocks do not compile or run"
    continue
  fi
  for expected in "$work"/*.expected; do
    [[ -e $expected ]] || continue
    block=$(basename "$expected" .expected)
    grep -q 'int main' "$work/$block.block" && continue
    awk -v n="$block" '/^@@block /{ on = $2 == n; next } on' "$snippets.out" >"$work/$block.out"
    diff "$expected" "$work/$block.out" || fail "$file:$(<"$work/$block.line"): the block prints something else"
  done
done
((failures == 0)) && echo "all programs passed"
exit $((failures > 0))

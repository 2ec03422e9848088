#!/usr/bin/env bash
# scripts/setup against a pretended Debian: what is installed, who we are and what apt answers are
# given by small programs in front of the path, which write down how they were called.
set -euo pipefail
setup=$(cd "$(dirname "$0")/../.." && pwd)/scripts/setup
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fake=$scratch/bin
mkdir "$fake"
export TANDEM_SETUP_CACHE=$scratch/cache FAKE=$scratch
failures=0

cat >"$fake/dpkg-query" <<'FAKE'
#!/bin/bash
grep -qx -- "${*: -1}" "$FAKE/installed" && echo installed
FAKE
cat >"$fake/id" <<'FAKE'
#!/bin/bash
cat "$FAKE/uid"
FAKE
cat >"$fake/sudo" <<'FAKE'
#!/bin/bash
[[ -e $FAKE/no-sudo ]] && exit 1
[[ $1 == -n ]] && exit 0
echo "sudo" >>"$FAKE/calls"
exec "$@"
FAKE
cat >"$fake/apt-get" <<'FAKE'
#!/bin/bash
echo "apt-get $*" >>"$FAKE/calls"
[[ $1 == update ]] && exit 0
for package in "$@"; do
  [[ $package == -* || $package == install ]] && continue
  grep -qsx "$package" "$FAKE/refused" && exit 100
  echo "$package" >>"$FAKE/installed"
done
FAKE
chmod +x "$fake"/*

# begin UID: a machine on which everything is installed; cases take packages away.
begin() {
  rm -rf "$scratch"/{calls,no-sudo,refused,cache}
  touch "$scratch/calls"
  echo "$1" >"$scratch/uid"
  printf '%s\n' g++ cmake ninja-build ccache libdnnl-dev libhwy-dev libopenblas-openmp-dev \
    libgtest-dev zlib1g-dev libzstd-dev libpng-dev libjpeg-dev pkg-config llvm-19-dev python3 \
    dataset-fashion-mnist >"$scratch/installed"
}
remove() {
  local package
  for package; do sed -i "/^$package\$/d" "$scratch/installed"; done
}
run_setup() {
  status=0
  output=$(PATH=$fake:$PATH "$setup" "$@" </dev/null 2>&1) || status=$?
  calls=$(cat "$scratch/calls")
}
check() {
  local what=$1
  shift
  if ! "$@"; then
    printf 'FAILED: %s\n  exit code %s\n  calls: %s\n  output: %s\n' "$what" "$status" "$calls" "$output"
    failures=$((failures + 1))
  fi
}
called() { [[ $calls == *"$1"* ]]; }
not_called() { [[ $calls != *"$1"* ]]; }
said() { [[ $output == *"$1"* ]]; }
exits() { ((status == $1)); }

begin 0
run_setup
check "nothing missing: success" exits 0
check "nothing missing: apt is left alone" [ -z "$calls" ]
check "nothing missing: silent" [ -z "$output" ]

begin 0
remove cmake libhwy-dev
run_setup
check "root installs: success" exits 0
check "root installs: lists refreshed" called "apt-get update"
check "root installs only what is missing" called "--no-install-recommends cmake libhwy-dev"
check "root installs: nothing else" not_called "g++"
check "root installs: no sudo" not_called "sudo"

begin 1000
remove ccache
run_setup
check "sudo: success" exits 0
check "sudo: used" called "sudo"
check "sudo: installs" called "ccache"

begin 1000
remove cmake g++
touch "$scratch/no-sudo"
run_setup
check "neither root nor sudo: exit code 1" exits 1
check "neither root nor sudo: says the command" \
  said "apt-get install -y --no-install-recommends g++ cmake"
check "neither root nor sudo: apt is left alone" not_called "apt-get"

begin 1000
remove dataset-fashion-mnist
touch "$scratch/no-sudo"
run_setup
check "only the images missing, no root: success" exits 0
check "only the images missing, no root: apt is left alone" not_called "apt-get"

begin 0
remove cmake dataset-fashion-mnist
echo dataset-fashion-mnist >"$scratch/refused"
run_setup
check "images not to be had: success" exits 0
check "images not to be had: said so" said "dataset-fashion-mnist could not be installed"
: >"$scratch/calls"
run_setup
check "images not to be had: not asked for again" [ -z "$calls" ]
rm "$scratch/refused"
run_setup --retry
check "--retry asks again" called "dataset-fashion-mnist"

begin 0
remove cmake
echo cmake >"$scratch/refused"
run_setup
check "a needed package not to be had: failure" exits 1
check "a needed package not to be had: named" said "could not install: cmake"

begin 0
run_setup --nonsense
check "unknown option: exit code 1" exits 1
check "unknown option: named" said "unknown option '--nonsense'"

((failures == 0)) && echo "all cases passed"
exit $((failures > 0))

# Shared by the scripts: sourced, not run. Needs nothing but bash and coreutils.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
# usage: prints the comment block at the head of the running script.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

# nproc would follow OMP_NUM_THREADS, which is about what is run, not about how it is built.
jobs() { env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || echo 2; }

# configure DIR OPTIONS...: runs cmake, with ninja when it is there.
configure() {
  local dir=$1
  shift
  local generator=()
  if [[ ! -e $dir/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
  local log
  log=$(cmake -S "$ROOT" -B "$dir" "${generator[@]}" "$@" 2>&1) || {
    printf '%s\n' "$log" >&2
    die "cmake failed"
  }
}

# build DIR TARGETS...: everything when no target is named.
build() {
  local dir=$1
  shift
  local targets=()
  if (($#)); then targets=(--target "$@"); fi
  cmake --build "$dir" -j "$(jobs)" "${targets[@]}"
}

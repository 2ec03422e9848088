#!/usr/bin/env bash
# Does scripts/check_includes catch wrong includes, and only those? Each case is a small tree.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check_includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# expect RESULT FILE LINES...: a tree with this one file beside a correct one gives RESULT: "ok", or a
# piece of the message.
expect() {
  local result=$1 file=$2
  shift 2
  rm -rf "$tree/tandem"
  mkdir -p "$tree/tandem/core" "$(dirname "$tree/$file")"
  printf '%s\n' '#pragma once' '#include <vector>' '#include "tandem/base/error.h"' \
    >"$tree/tandem/core/good.h"
  printf '%s\n' "$@" >"$tree/$file"
  local output status=0
  output=$("$check" "$tree" 2>&1) || status=$?
  if [[ $result == ok ]]; then
    if ((status != 0)); then
      printf 'FAILED: %s was refused: %s\n' "$*" "$output"
      failures=$((failures + 1))
    fi
  elif ((status == 0)) || [[ $output != *"$result"* ]]; then
    printf 'FAILED: %s with %s: exit code %s, output: %s\n' "$file" "$*" "$status" "$output"
    failures=$((failures + 1))
  fi
}

expect ok tandem/ops/a.cpp '#include "tandem/core/tensor.h"' '#include "tandem/kernels/map.h"'
expect ok tandem/ops/a.cpp '#include "tandem/base/error.h"' '#include "tandem/ops/b.h"'
expect ok tandem/autograd/a.cpp '#include "tandem/ops/b.h"'
expect ok tandem/kernels/a.cpp '#include <dnnl.hpp>' '#include "hwy/highway.h"' \
  '#include "tandem/core/shape.h"' '#include <lapacke.h>' '#include HWY_TARGET_INCLUDE'
expect ok tandem/base/a.cpp '#include <omp.h>'
expect ok tandem/tandem.h '#pragma once' '#include "tandem/ops/unary.h"'
expect 'core must not include tandem/ops/b.h' tandem/core/a.cpp '#include "tandem/ops/b.h"'
expect 'a.cpp:2: core must not' tandem/core/a.cpp '#include <vector>' '#  include "tandem/ops/b.h"'
expect 'base must not include' tandem/base/a.h '#pragma once' '#include "tandem/core/dtype.h"'
expect 'kernels must not include' tandem/kernels/a.cpp '#include "tandem/core/tensor.h"'
expect 'ops must not include' tandem/ops/a.cpp '#include "tandem/autograd/engine.h"'
expect 'must not include' tandem/ops/deep/a.cpp '#include "tandem/autograd/engine.h"'
expect '<dnnl.hpp> belongs to kernels' tandem/ops/a.cpp '#include <dnnl.hpp>'
expect '<hwy/highway.h> belongs to kernels' tandem/core/a.cpp '#include <hwy/highway.h>'
expect '<lapacke.h> belongs to kernels' tandem/ops/a.cpp '#include <lapacke.h>'
expect '<cblas.h> belongs to kernels' tandem/autograd/a.cpp '#include <cblas.h>'
expect '<omp.h> belongs to base' tandem/kernels/a.cpp '#include <omp.h>'
expect 'write the whole path' tandem/ops/a.cpp '#include "unary.h"'
expect 'not in the table' tandem/new/a.cpp '#include <vector>'
expect 'no #pragma once' tandem/core/a.h '#include <vector>'
expect 'umbrella header must not show' tandem/tandem.h '#pragma once' '#include "tandem/kernels/map.h"'
expect 'only programs include' tandem/ops/a.cpp '#include "tandem/tandem.h"'

((failures == 0)) && echo "all cases passed"
exit $((failures > 0))

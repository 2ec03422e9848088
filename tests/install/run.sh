#!/usr/bin/env bash
# run.sh BUILD CMAKE CXX: installs BUILD to a temporary prefix and builds main.cpp against it three ways.
set -euo pipefail
build=$1 cmake=$2 cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
# Moved after installing, because a tree that remembers where it was put breaks in packages.
"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$prefix"

expect_output() {
  local what=$1 output
  shift
  output=$("$@")
  if [[ $output != 12 ]]; then
    echo "FAILED: $what printed '$output', not '12'"
    exit 1
  fi
  echo "$what: ok"
}

"$cmake" -S "$here" -B "$scratch/user" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; echo "FAILED: find_package"; exit 1; }
"$cmake" --build "$scratch/user" >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; echo "FAILED: building with find_package"; exit 1; }
expect_output "find_package, shared" "$scratch/user/with_shared"
expect_output "find_package, static" "$scratch/user/with_static"
if ldd "$scratch/user/with_static" | grep -q libtandem; then
  echo "FAILED: the static program needs libtandem.so"
  exit 1
fi

pc=$(dirname "$(find "$prefix" -name tandem.pc)")
libdir=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir tandem)
read -ra flags <<<"$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs tandem)"
"$cxx" -std=c++20 "$here/main.cpp" "${flags[@]}" -o "$scratch/with_pc"
expect_output "pkg-config" env LD_LIBRARY_PATH="$libdir" "$scratch/with_pc"

# Kernels are made by the part of LLVM that lies beside the library; LLVM's own is not opened.
if [[ -e $build/libtandem_llvm.so ]]; then
  "$cxx" -std=c++20 "$here/kernels.cpp" "${flags[@]}" -o "$scratch/kernels"
  made=$(LD_LIBRARY_PATH=$libdir TANDEM_CACHE=$scratch/cache LD_DEBUG=files LD_DEBUG_OUTPUT=$scratch/opened \
    "$scratch/kernels")
  if [[ $made != 1 ]] || ! grep -q "init: $libdir/libtandem_llvm.so" "$scratch"/opened.* ||
    grep -q "init: .*libLLVM" "$scratch"/opened.*; then
    echo "FAILED: $made kernels were made; libraries opened:"
    grep -h "calling init" "$scratch"/opened.*
    exit 1
  fi
  echo "kernels by libtandem_llvm.so: ok"
fi

# The program finds the library from where it lies.
version=$("$prefix/bin/tandem" --version)
if [[ $version != "tandem $(PKG_CONFIG_PATH=$pc pkg-config --modversion tandem)" ]]; then
  echo "FAILED: the installed program printed '$version'"
  exit 1
fi
echo "tandem --version: ok"

# The installed headers must not need one that is not installed.
(cd "$prefix/include" && find tandem -name '*.h' | sort) |
  sed 's|.*|#include <&>|' >"$scratch/headers.cpp"
"$cxx" -std=c++20 -fsyntax-only -I"$prefix/include" "$scratch/headers.cpp"
echo "$(wc -l <"$scratch/headers.cpp") installed headers: ok"

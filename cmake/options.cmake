# Build options and the flags that every target shares.
option(TANDEM_BUILD_TESTS "Build the tests" ON)
option(TANDEM_BUILD_TOOLS "Build the program `tandem`" ON)
option(TANDEM_BUILD_EXAMPLES "Build the example programs" ON)
option(TANDEM_BUILD_BENCH "Build the benchmarks" ON)
option(TANDEM_WITH_LLVM "Make machine code for fused kernels with LLVM 19" ON)
option(TANDEM_WERROR "Treat warnings as errors" ON)
set(TANDEM_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

# Seconds after which a test counts as stuck. Sanitizers make programs several times slower.
set(TANDEM_TEST_TIMEOUT 1200)
if(TANDEM_SANITIZE)
  set(TANDEM_TEST_TIMEOUT 3600)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Not with clang: there every file is seen to include what it needs.
set(precompile OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompile ON)
endif()
option(TANDEM_PRECOMPILE "Parse the headers that most files begin with only once" ${precompile})

find_program(TANDEM_CCACHE ccache)
if(TANDEM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache asks to be told that a precompiled header stands for its macros.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${TANDEM_CCACHE})
endif()

# -ffp-contract=off: an fma appears only where a formula says so, hence eager and compiled agree.
# initial-exec: thread-local state is read on every op and must not cost a call.
# no-semantic-interposition: calls inside the shared library are plain calls, as in the static one.
add_library(tandem_flags INTERFACE)
target_include_directories(tandem_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(tandem_flags INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off -fno-math-errno
  -ftls-model=initial-exec -fno-semantic-interposition)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Both are wrong about the standard library's own inlined code in GCC 12: -Wrestrict about
  # std::string + "..." (GCC bug 105651), -Wmaybe-uninitialized about copies of an empty std::optional
  # (GCC bug 80635). clang's -Wuninitialized stays.
  target_compile_options(tandem_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  # With a precompiled header GCC's heap is large from the start, and it would look for garbage again and
  # again: up to 700 MB it need not.
  target_compile_options(tandem_flags INTERFACE --param=ggc-min-heapsize=700000)
endif()

if(TANDEM_SANITIZE)
  # -O1 keeps the build short and the reports readable.
  string(REPLACE "-O3" "-O1" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  target_compile_options(tandem_flags INTERFACE -fsanitize=${TANDEM_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(tandem_flags INTERFACE -fsanitize=${TANDEM_SANITIZE})
  if(TANDEM_SANITIZE MATCHES "thread")
    # libgomp is not instrumented: its barriers look like races. Plain threads stand in for it.
    target_compile_definitions(tandem_flags INTERFACE TANDEM_THREAD_SANITIZER=1)
  endif()
elseif(TANDEM_WERROR)
  # Not under sanitizers: instrumentation leads GCC's flow analysis astray.
  target_compile_options(tandem_flags INTERFACE -Werror)
endif()

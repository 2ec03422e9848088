# What comes from Debian: oneDNN, Highway, LAPACK, OpenMP, threads.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

find_package(dnnl REQUIRED)
add_library(tandem_dnnl INTERFACE)
target_link_libraries(tandem_dnnl INTERFACE DNNL::dnnl)

find_path(TANDEM_HWY_INCLUDE hwy/highway.h REQUIRED)
find_library(TANDEM_HWY_LIBRARY hwy REQUIRED)
add_library(tandem_hwy INTERFACE)
target_include_directories(tandem_hwy SYSTEM INTERFACE ${TANDEM_HWY_INCLUDE})
target_link_libraries(tandem_hwy INTERFACE ${TANDEM_HWY_LIBRARY})
# Three instruction sets are enough: baseline, AVX2, AVX-512.
target_compile_definitions(tandem_hwy INTERFACE
  "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)")

find_library(TANDEM_OPENBLAS_LIBRARY openblas
  PATH_SUFFIXES x86_64-linux-gnu/openblas-openmp openblas-openmp REQUIRED)
add_library(tandem_lapack INTERFACE)
target_link_libraries(tandem_lapack INTERFACE ${TANDEM_OPENBLAS_LIBRARY})

# What comes from Debian: oneDNN, Highway, LAPACK, LLVM, OpenMP, zlib, libpng, libjpeg, threads.
find_package(Threads REQUIRED)

# One thread pool in the process. oneDNN and OpenBLAS bring libgomp, so Tandem uses libgomp as well.
# clang compiles OpenMP for LLVM's libomp only, which would put a second team of spinning threads
# beside libgomp's. With clang (and under ThreadSanitizer, which cannot see into libgomp) the library
# is therefore built without OpenMP: base/parallel.cpp then runs its ranges on std::thread.
add_library(tandem_openmp INTERFACE)
# libgomp is linked all the same, to tell it how many threads oneDNN may use.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT TANDEM_SANITIZE MATCHES "thread")
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_link_libraries(tandem_openmp INTERFACE OpenMP::OpenMP_CXX)
else()
  target_link_libraries(tandem_openmp INTERFACE gomp)
endif()

# oneDNN by path: its own CMake package would make every user of Tandem need OpenCL's headers.
find_path(TANDEM_DNNL_INCLUDE dnnl.hpp REQUIRED)
find_library(TANDEM_DNNL_LIBRARY dnnl REQUIRED)
add_library(tandem_dnnl INTERFACE)
target_include_directories(tandem_dnnl SYSTEM INTERFACE ${TANDEM_DNNL_INCLUDE})
target_link_libraries(tandem_dnnl INTERFACE ${TANDEM_DNNL_LIBRARY})

find_path(TANDEM_HWY_INCLUDE hwy/highway.h REQUIRED)
find_library(TANDEM_HWY_LIBRARY hwy REQUIRED)
add_library(tandem_hwy INTERFACE)
target_include_directories(tandem_hwy SYSTEM INTERFACE ${TANDEM_HWY_INCLUDE})
target_link_libraries(tandem_hwy INTERFACE ${TANDEM_HWY_LIBRARY})
# Three instruction sets are enough: baseline, AVX2, AVX-512.
target_compile_definitions(tandem_hwy INTERFACE
  "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)")

# The OpenBLAS that threads with OpenMP, by full path: the plain name may lead to the one with threads
# of its own. Its folder goes into the library's run path for the same reason.
find_library(TANDEM_OPENBLAS_LIBRARY openblas
  PATHS /usr/lib PATH_SUFFIXES x86_64-linux-gnu/openblas-openmp openblas-openmp
  NO_DEFAULT_PATH)
find_library(TANDEM_OPENBLAS_LIBRARY openblas
  PATH_SUFFIXES x86_64-linux-gnu/openblas-openmp openblas-openmp REQUIRED)
get_filename_component(TANDEM_OPENBLAS_DIR ${TANDEM_OPENBLAS_LIBRARY} DIRECTORY)
add_library(tandem_lapack INTERFACE)
target_link_libraries(tandem_lapack INTERFACE ${TANDEM_OPENBLAS_LIBRARY})

find_path(TANDEM_ZLIB_INCLUDE zlib.h REQUIRED)
find_library(TANDEM_ZLIB_LIBRARY z REQUIRED)
add_library(tandem_zlib INTERFACE)
target_include_directories(tandem_zlib SYSTEM INTERFACE ${TANDEM_ZLIB_INCLUDE})
target_link_libraries(tandem_zlib INTERFACE ${TANDEM_ZLIB_LIBRARY})

# Images.
find_path(TANDEM_PNG_INCLUDE png.h REQUIRED)
find_library(TANDEM_PNG_LIBRARY png REQUIRED)
find_path(TANDEM_JPEG_INCLUDE jpeglib.h REQUIRED)
find_library(TANDEM_JPEG_LIBRARY jpeg REQUIRED)
add_library(tandem_images INTERFACE)
target_include_directories(tandem_images SYSTEM INTERFACE ${TANDEM_PNG_INCLUDE}
  ${TANDEM_JPEG_INCLUDE})
target_link_libraries(tandem_images INTERFACE ${TANDEM_PNG_LIBRARY} ${TANDEM_JPEG_LIBRARY})

# LLVM: its C headers, and libtandem_llvm.so, the part of its archives that Tandem calls. That is opened
# at run time, when the first kernel has to be made (jit/llvm/api.h says why), so nothing is linked, and
# the shared and the static library need it alike.
add_library(tandem_llvm INTERFACE)
if(TANDEM_WITH_LLVM)
  find_program(TANDEM_LLVM_CONFIG llvm-config-19)
  find_library(TANDEM_ZSTD_LIBRARY zstd)
  if(TANDEM_LLVM_CONFIG)
    execute_process(COMMAND ${TANDEM_LLVM_CONFIG} --includedir
      OUTPUT_VARIABLE llvm_include OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${TANDEM_LLVM_CONFIG} --link-static --libfiles core analysis target x86
      OUTPUT_VARIABLE llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(llvm_archives)
  endif()
  if(llvm_archives AND TANDEM_ZSTD_LIBRARY)
    target_include_directories(tandem_llvm SYSTEM INTERFACE ${llvm_include})
    target_compile_definitions(tandem_llvm INTERFACE TANDEM_WITH_LLVM=1)
    target_link_libraries(tandem_llvm INTERFACE ${CMAKE_DL_LIBS})

    set(functions ${PROJECT_SOURCE_DIR}/tandem/jit/llvm/functions.inc)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${functions})
    file(STRINGS ${functions} names REGEX "^_")
    list(TRANSFORM names REPLACE "_\\((.*)\\)" "LLVM\\1")
    list(JOIN names ";\n  " exported)
    file(CONFIGURE OUTPUT tandem_llvm.map CONTENT "{\nglobal:\n  ${exported};\nlocal:\n  *;\n};\n")
    list(TRANSFORM names PREPEND LINKER:-u,)
    add_library(tandem_llvm_part MODULE ${functions})
    set_target_properties(tandem_llvm_part PROPERTIES OUTPUT_NAME tandem_llvm LINKER_LANGUAGE CXX)
    target_link_options(tandem_llvm_part PRIVATE ${names} LINKER:--gc-sections LINKER:--as-needed
      LINKER:--version-script=${PROJECT_BINARY_DIR}/tandem_llvm.map)
    target_link_libraries(tandem_llvm_part PRIVATE ${llvm_archives} ${TANDEM_ZLIB_LIBRARY}
      ${TANDEM_ZSTD_LIBRARY} ${CMAKE_DL_LIBS})
  else()
    message(STATUS
      "LLVM 19 (llvm-19-dev, libzstd-dev) was not found: fused kernels will not be compiled")
    set(TANDEM_WITH_LLVM OFF)
  endif()
endif()

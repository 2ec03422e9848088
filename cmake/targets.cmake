include(GNUInstallDirs)

# tandem_precompiled(NAME [EXECUTABLES] LIBRARIES ... OPTIONS ... HEADERS ...): headers that are parsed once for
# all targets that ask for them by tandem_use_precompiled(TARGET NAME). Those targets need the same flags.
function(tandem_precompiled name)
  cmake_parse_arguments(ARG "EXECUTABLES" "" "LIBRARIES;OPTIONS;HEADERS" ${ARGN})
  if(NOT TANDEM_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE tandem_flags ${ARG_LIBRARIES})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(ARG_EXECUTABLES)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()
function(tandem_use_precompiled target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
    # GCC forgets the pragmas of a precompiled header, ArrayRef's among them, and which of its code is the
    # system's: std::string's inlined copies then make it warn (GCC bug 105651). Clang sees all the rest.
    target_compile_options(${target} PRIVATE -Wno-init-list-lifetime -Wno-array-bounds
      -Wno-stringop-overflow -Wno-stringop-overread -fpch-preprocess)
  endif()
endfunction()

# tandem_unity(TARGET): what several of its files have in common is parsed and made once. Names are then unique in
# the target, not only in a file: another file's helper with other parameters would be an overload.
function(tandem_unity target)
  if(TANDEM_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  endif()
endfunction()

# tandem_folder(NAME [UNITY] LIBRARIES ...): one object library for tandem/NAME.
#
# Which folder may include which is checked by scripts/check_includes. The targets do not depend on
# each other: an object file needs headers only, and an order would keep cores idle.
function(tandem_folder name)
  cmake_parse_arguments(ARG "UNITY" "" "LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tandem/${name}/*.cpp)
  if(NOT TANDEM_WITH_LLVM)
    list(FILTER sources EXCLUDE REGEX "/jit/llvm/")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(tandem_${name} OBJECT ${sources})
  if(ARG_UNITY)
    tandem_unity(tandem_${name})
  endif()
  target_link_libraries(tandem_${name} PUBLIC tandem_flags PRIVATE ${ARG_LIBRARIES} tandem_openmp)
  # What is below core/ includes nothing of it.
  if(NOT name MATCHES "^(base|kernels|jit)$")
    tandem_use_precompiled(tandem_${name} tandem_core_headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY TANDEM_FOLDERS ${name})
  set_property(GLOBAL APPEND PROPERTY TANDEM_LIBRARIES ${ARG_LIBRARIES})
endfunction()

# tandem_library(): the shared and the static library made of all folders, and their installation.
function(tandem_library)
  get_property(folders GLOBAL PROPERTY TANDEM_FOLDERS)
  get_property(libraries GLOBAL PROPERTY TANDEM_LIBRARIES)
  list(REMOVE_DUPLICATES libraries)
  add_library(tandem SHARED)
  add_library(tandem_static STATIC)
  add_library(Tandem::tandem ALIAS tandem)
  add_library(Tandem::tandem_static ALIAS tandem_static)
  set_target_properties(tandem PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH ${TANDEM_OPENBLAS_DIR})
  # Threads that have used it call it when they end: it is never unloaded.
  target_link_options(tandem PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,nodelete)
  set_target_properties(tandem_static PROPERTIES OUTPUT_NAME tandem)
  foreach(target tandem tandem_static)
    foreach(folder ${folders})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:tandem_${folder}>)
    endforeach()
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:tandem_flags> Threads::Threads)
    foreach(library ${libraries} tandem_openmp)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
    endforeach()
  endforeach()
  # A static library passes its dependencies on; TandemConfig.cmake and tandem.pc name them.
  target_link_libraries(tandem_static INTERFACE $<INSTALL_INTERFACE:Tandem::dependencies>)

  include(CMakePackageConfigHelpers)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
  install(TARGETS tandem EXPORT TandemTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS tandem_static EXPORT TandemStaticTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET tandem_llvm_part)
    add_dependencies(tandem tandem_llvm_part)
    install(TARGETS tandem_llvm_part LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(EXPORT TandemTargets NAMESPACE Tandem:: DESTINATION ${package_dir})
  install(EXPORT TandemStaticTargets NAMESPACE Tandem:: DESTINATION ${package_dir})
  # Not installed: headers for the inside, which are those of kernels/ and jit/llvm/, and *_op.h and
  # *_detail.h of the other folders. The install test compiles all that are.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN kernels EXCLUDE PATTERN jit/llvm EXCLUDE
    PATTERN "*_op.h" EXCLUDE PATTERN "*_detail.h" EXCLUDE)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TandemConfig.cmake.in
    ${PROJECT_BINARY_DIR}/TandemConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/TandemConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/TandemConfig.cmake
    ${PROJECT_BINARY_DIR}/TandemConfigVersion.cmake DESTINATION ${package_dir})

  file(RELATIVE_PATH TANDEM_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tandem.pc.in ${PROJECT_BINARY_DIR}/tandem.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tandem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# Options and defaults that every target of the core shares.

option(BUILD_SHARED_LIBS "Build the core as a shared library" ON)
option(CD_BUILD_EXAMPLES "Build the examples" ON)
option(CD_BUILD_BENCH "Build the benchmark against the peers (needs setup/setup.sh --bench)" OFF)
set(CD_BUILD_PYTHON AUTO CACHE STRING
  "Build the Python package: ON, OFF, or AUTO where the interpreter of the virtual environment has nanobind")
option(CD_CCACHE "Compile through ccache where it is found" ON)
option(CD_UNITY "Compile several sources of a folder together: half the time for all, longer for one" ON)
option(CD_PRECOMPILED_HEADERS "Parse Eigen (and GoogleMock) once instead of in every source" ON)
if(DEFINED ENV{CI})
  set(cd_in_ci ON)
else()
  set(cd_in_ci OFF)
endif()
option(CD_WERROR "Treat compiler warnings as errors (default: only when the environment has CI)"
  ${cd_in_ci})
set(CD_SANITIZE "" CACHE STRING
  "Sanitizers of all targets, as after -fsanitize= (address,undefined; thread; realtime)")

get_property(cd_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT cd_multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

if(CD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CD_CCACHE_PROGRAM ccache)
  if(CD_CCACHE_PROGRAM)
    # Without this sloppiness ccache refuses to cache what includes a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CD_CCACHE_PROGRAM})
  endif()
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Libraries and programs of the build tree lie together, as they do after an installation.
include(GNUInstallDirs)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Installed binaries find each other by place, and the libraries of the Python wheels by path.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Warnings, sanitizers and Eigen's settings of one target.
#
# EIGEN_STACK_ALLOCATION_LIMIT: Eigen keeps the temporary blocks of its matrix products on the stack up
# to this size, in bytes, and takes larger ones from the heap. The default of 128 KiB is reached by the
# products of some hundred rows; 1 MiB keeps a real-time cycle free of allocations, within the 8 MiB of
# a usual stack.
function(cd_target_defaults target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<BOOL:${CD_WERROR}>:-Werror>
  )
  target_compile_definitions(${target} PRIVATE EIGEN_STACK_ALLOCATION_LIMIT=1048576)
  if(CD_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${CD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${CD_SANITIZE})
    # Eigen's own alignment by over-allocation confuses the address sanitizer's interceptors; glibc's
    # malloc is aligned to 16 bytes already. Whoever shares vectors with the library must allocate alike.
    target_compile_definitions(${target} PUBLIC EIGEN_MALLOC_ALREADY_ALIGNED=1)
  endif()
endfunction()

# cd_compile_together(target source...): compiles up to ten sources of a folder as one, because most of the time goes
# into headers. Names in anonymous namespaces must therefore be unique within a folder. Sources with options of their
# own are compiled alone.
function(cd_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CD_UNITY} UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    if(NOT DEFINED count_of_${folder})
      set(count_of_${folder} 0)
    endif()
    math(EXPR batch "${count_of_${folder}} / 10")
    math(EXPR count_of_${folder} "${count_of_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
endfunction()
